#include "session/base/failpoint.hpp"
#include "tests/gateway/memory_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr std::string_view no_memory =
    "There is not enough memory for this request (server.max_memory_bytes).";

/// Large bodies may use 24 MiB of the 32. Each counts five times its length, so one of 3 to 4.8 MiB
/// fits at a time.
class BodiesInTurn : public memory_test {
protected:
    BodiesInTurn() : memory_test(32 * mib) { options.log = &log; }
    ~BodiesInTurn() override { server.reset(); }

    /// A request of exactly that length for a run of its own.
    static std::string request_of(std::size_t length, std::string_view name) {
        std::string body = run_body(name, "r");
        body.insert(body.find("hello"), length - body.size(), 'x');
        return body;
    }
    static std::string chunked(std::string_view body) {
        std::string request = "POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                              "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "10000\r\n";
        for (;;) {
            request += body.substr(0, 65'536);
            request += "\r\n";
            body.remove_prefix(65'536);
            if (body.size() < 65'536) {
                break;
            }
            request += "10000\r\n";
        }
        return request + "0\r\n\r\n";
    }
    [[nodiscard]] std::size_t lines_with(std::string_view text) const {
        return static_cast<std::size_t>(std::ranges::count_if(
            log.lines(),
            [text](const std::string& line) { return line.find(text) != std::string::npos; }
        ));
    }

    memory_logger log;
};

TEST_F(BodiesInTurn, AllAreServedWhileSmallerOnesPassThem) {
    settings.server.threads = 2;
    start();
    std::atomic<int> served{0};
    std::atomic<bool> over{false};
    std::vector<std::thread> clients;
    for (int i = 0; i < 12; ++i) {
        clients.emplace_back([this, &served, i] {
            const std::string body = request_of(3 * mib, "t" + std::to_string(i));
            served += ask(post("/agui", body)).status == 200 ? 1 : 0;
        });
    }
    std::thread looking([this, &over] {
        while (!over) {
            EXPECT_LE(server->memory_used(), 32 * mib);
            std::this_thread::yield();
        }
    });

    for (int i = 0; i < 5; ++i) {
        const std::string photo = request_of(1'500'000, "photo" + std::to_string(i));
        EXPECT_EQ(ask(post("/agui", photo)).status, 200) << i;
        EXPECT_EQ(ask(get("/healthz")).status, 200);
    }
    for (std::thread& each : clients) {
        each.join();
    }
    over = true;
    looking.join();
    EXPECT_EQ(served, 12);
    wait_for_memory(0, 8 * mib);
}

TEST_F(BodiesInTurn, OneThatCanNeverFitIsRefusedAtOnce) {
    settings.server.max_body_bytes = 8 * mib;
    start();

    const raw_reply too_large = announced(8 * mib + 1, 0)->read_reply();
    EXPECT_EQ(too_large.status, 413);
    for (int i = 0; i < 3; ++i) {
        const raw_reply refused = announced(5 * mib, 0)->read_reply();
        EXPECT_EQ(refused.status, 503);
        EXPECT_EQ(refused.header("retry-after"), "2");
        EXPECT_THAT(refused.body, HasSubstr(no_memory));
    }
    EXPECT_EQ(lines_with(no_memory), 1U);
}

TEST_F(BodiesInTurn, OneThatHasWaitedTooLongIsRefused) {
    settings.server.body = milliseconds(50);
    answer_at_length(2 * mib, false);
    start();
    raw_client run(port());
    run.send(post("/agui", run_body("run", "r")));
    // While the run is active, its text counts six times.
    ASSERT_THAT(run.read_until(R"("delta":"Hello")"), HasSubstr("Hello"));

    const raw_reply refused = announced(4 * mib, 0)->read_reply();

    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr(no_memory));
    EXPECT_EQ(lines_with(no_memory), 1U);
}

TEST_F(BodiesInTurn, OneThatLagsMakesWayForTheNext) {
    settings.server.body_idle = milliseconds(300);
    start();
    const auto lagging = announced(4 * mib, mib);
    wait_for_memory(20 * mib, 24 * mib);

    EXPECT_EQ(ask(post("/agui", request_of(4 * mib, "next"))).status, 200);
    EXPECT_EQ(lagging->read_reply().status, 408);
}

TEST_F(BodiesInTurn, OneThatIsAnnouncedCountsInTheShareOfItsAddress) {
    settings.server.trusted_proxies = {"127.0.0.1"};
    settings.server.max_unfinished_bytes = 4 * mib;
    start();
    const std::string one = "X-Forwarded-For: 203.0.113.1\r\n";
    const std::string other = "X-Forwarded-For: 203.0.113.2\r\n";
    const auto first = announced(9 * mib / 4, 0, one);
    wait_for_memory(11 * mib, 12 * mib);

    EXPECT_EQ(announced(9 * mib / 4, 0, one)->read_reply().status, 429);
    EXPECT_EQ(ask(post("/agui", request_of(9 * mib / 4, "t"), other)).status, 200);
}

TEST_F(BodiesInTurn, OneInChunksTakesMemoryAsItGrows) {
    start();
    EXPECT_EQ(ask(chunked(request_of(3 * mib, "first"))).status, 200);
    const auto other = announced(9 * mib / 4, 0);
    wait_for_memory(11 * mib, 20 * mib);

    EXPECT_EQ(ask(chunked(request_of(3 * mib, "second"))).status, 503);
    EXPECT_EQ(lines_with(no_memory), 1U);
    EXPECT_EQ(ask(chunked(request_of(mib, "third"))).status, 200);
}

// Its values take more memory than was reserved for a text.
TEST_F(BodiesInTurn, OneThatTurnsOutToNeedMoreIsRefusedWithALineInTheLog) {
    start();
    std::string zeros = run_body("t", "r");
    std::string list = "0";
    while (list.size() < 3 * mib) {
        list += ",0";
    }
    zeros.insert(zeros.find(R"("context":[)") + std::string_view(R"("context":[)").size(), list);

    const raw_reply refused = ask(post("/agui", zeros));

    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("memory for this request"));
    EXPECT_EQ(lines_with("memory for this request"), 1U);
    wait_for_memory(0, 0);
}

#ifdef AGUI_FAILPOINTS

/// Counts the bodies that wait for memory.
class queued_bodies {
public:
    /// Returns false after ten seconds.
    bool wait_for(int count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return count_ >= count; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
    failpoint_hook hook_{[this](std::string_view place) {
        const std::lock_guard lock(mutex_);
        count_ += place == "body.queued" ? 1 : 0;
        changed_.notify_all();
    }}; ///< Declared last, because it calls the other members.
};

TEST_F(BodiesInTurn, AreServedInTheOrderOfArrival) {
    start();
    queued_bodies queued;
    const auto holder = announced(9 * mib / 4, 0);
    wait_for_memory(11 * mib, 12 * mib);
    const std::string first_body = request_of(9 * mib / 2, "first");
    const std::string second_body = request_of(5 * mib / 2, "second");
    const auto first = announced(first_body.size(), 0);
    ASSERT_TRUE(queued.wait_for(1));
    const auto second = announced(second_body.size(), 0); // There would be room for it.
    ASSERT_TRUE(queued.wait_for(2));
    EXPECT_EQ(ask(post("/agui", request_of(2 * mib, "photo"))).status, 200);

    holder->close();
    wait_for_memory(22 * mib, 24 * mib);
    first->send(first_body);
    EXPECT_EQ(first->read_reply().status, 200);
    second->send(second_body);
    EXPECT_EQ(second->read_reply().status, 200);
}

TEST_F(BodiesInTurn, OneIsNotAwaitedAfterItsClientHasLeft) {
    start();
    queued_bodies queued;
    const auto holder = announced(9 * mib / 4, 0);
    wait_for_memory(11 * mib, 12 * mib);
    const auto leaving = announced(9 * mib / 2, 1000);
    ASSERT_TRUE(queued.wait_for(1));
    const auto next = announced(5 * mib / 2, 0);
    ASSERT_TRUE(queued.wait_for(2));

    leaving->close();

    wait_for_memory(23 * mib, 24 * mib);
}

TEST_F(BodiesInTurn, AClientIsAskedForTheBodyOnceThereIsMemory) {
    start();
    queued_bodies queued;
    const auto holder = announced(4 * mib, 0);
    wait_for_memory(20 * mib, 20 * mib);
    const std::string body = request_of(3 * mib, "t");
    const auto waiting = announced(body.size(), 0, "Expect: 100-continue\r\n");
    ASSERT_TRUE(queued.wait_for(1));

    holder->close();

    EXPECT_EQ(waiting->read_reply().status, 100);
    EXPECT_EQ(server->memory_used(), 15 * mib);
    waiting->send(body);
    EXPECT_EQ(waiting->read_reply().status, 200);
}

TEST_F(BodiesInTurn, AServerEndsWhileBodiesWait) {
    start();
    queued_bodies queued;
    const auto holder = announced(4 * mib, 0);
    wait_for_memory(20 * mib, 20 * mib);
    const auto waiting = announced(4 * mib, 0);
    ASSERT_TRUE(queued.wait_for(1));

    server.reset();

    EXPECT_EQ(waiting->read_reply().status, 0);
}

#endif

} // namespace
} // namespace agui::test
