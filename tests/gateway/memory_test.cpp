#include "session/base/failpoint.hpp"
#include "tests/gateway/memory_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <map>
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

class Memory : public memory_test {
protected:
    Memory() : memory_test(16 * mib) {}

    /// Connections with bodies of at most 2 MiB each that use that much memory together.
    [[nodiscard]] std::vector<std::unique_ptr<raw_client>> unfinished_bodies(std::size_t bytes) {
        std::vector<std::unique_ptr<raw_client>> clients;
        for (std::size_t held = 0; held < bytes; held += 2 * mib) {
            clients.push_back(unfinished(std::min(2 * mib, bytes - held) - 65'536));
        }
        return clients;
    }
};

TEST_F(Memory, TwentyUnfinishedBodiesRefuseNoSmallRequest) {
    answer = say_and_stall("Hello");
    start();
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(unfinished(2 * mib - 65'536));
    }
    wait_for_memory(11 * mib, 16 * mib);

    const raw_reply large = ask(post("/agui", run_body("t", "large", std::string(4 * mib, 'x'))));
    EXPECT_EQ(large.status, 503);
    EXPECT_EQ(large.header("retry-after"), "2");
    EXPECT_THAT(large.body, HasSubstr("overloaded"));
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    EXPECT_THAT(client.read_until("Hello"), HasSubstr("Hello"));
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");
    EXPECT_EQ(ask(get("/healthz")).status, 200);
}

// This includes requests that change or show a thread, stop a run or answer a call.
TEST_F(Memory, SmallRequestsOfEveryRouteAreServedWhileItIsFull) {
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    auto clients = unfinished_bodies(12 * mib);
    wait_for_memory(12 * mib, 14 * mib);
    // Small requests use the memory until only the reserve, an eighth, is left, and a part of the
    // reserve is taken.
    while (server->memory_used() < 14 * mib) {
        const std::size_t before = server->memory_used();
        clients.push_back(unfinished(60'000));
        // Waits until all of it has arrived, because the next ones would use the rest of the
        // reserve as well.
        ASSERT_NO_FATAL_FAILURE(wait_for_memory(before + 55'000, 15 * mib));
    }
    const auto patch = [this](std::string_view path, std::string_view body) {
        return ask(post(path, body).replace(0, 4, "PATCH"));
    };

    const std::string small = R"({"a":")" + std::string(60'000, 'x') + "\"}";
    EXPECT_EQ(patch("/agui/threads/t/state", small).status, 200);
    EXPECT_EQ(patch("/agui/threads/t", R"({"title":"A title"})").status, 200);
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).status, 200);
    for (const std::string path : {"", "/pending", "/branches", "/runs/r/events"}) {
        EXPECT_EQ(ask(get("/agui/threads/t" + path)).status, 200) << path;
    }
    EXPECT_EQ(ask(get("/agui/threads")).status, 200);

    const std::string large = R"({"a":")" + std::string(4 * mib, 'x') + "\"}";
    // A body of any size is not requested until there is room.
    for (const raw_reply& refused :
         {patch("/agui/threads/t/state", large), ask(get("/agui/threads/t/state")),
          ask(get("/agui/threads/t/messages"))}) {
        EXPECT_EQ(refused.status, 503);
        EXPECT_EQ(refused.header("retry-after"), "2");
    }
    clients.clear();
    wait_for_memory(0, mib);
    EXPECT_EQ(ask(get("/agui/threads/t/state")).body, R"({"state":)" + small + "}");
    EXPECT_EQ(ask(get("/agui/threads/t").replace(0, 3, "DELETE")).status, 204);
}

// Each reader has a list of messages and a frame of its own, however many readers there are.
TEST_F(Memory, AChatStreamInFullModeThatHasNoRoomIsCutOff) {
    answer_at_length(2 * mib, false);
    start();
    raw_client run(port());
    run.send(post("/agui", run_body("t", "r")));
    EXPECT_THAT(run.read_until(R"("delta":"Hello")"), HasSubstr("RUN_STARTED"));
    const std::string frames = "/agui/threads/t/runs/r/events?form=chat-stream&responseMode=";

    const raw_reply refused = ask(get(frames + "full"));

    EXPECT_EQ(refused.status, 200);
    EXPECT_EQ(refused.body, ": cut off: there is not enough memory; read on from the last id\n\n");
    EXPECT_FALSE(refused.complete);
    raw_client pieces(port());
    pieces.send(get(frames + "incremental"));
    EXPECT_THAT(pieces.read_until(R"("value":"Hello")"), HasSubstr(R"("value":"Hello")"));
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");
    EXPECT_THAT(ask(get(frames + "full")).body, HasSubstr("finished")) << "there is room again";
}

TEST_F(Memory, ReturnsTheMemoryOfABody) {
    start();
    for (int i = 0; i < 5; ++i) {
        const auto client = unfinished(2 * mib);
        wait_for_memory(10 * mib, 16 * mib);
        client->close();
        wait_for_memory(0, 0);
    }
    EXPECT_EQ(ask(post("/agui", run_body("t", "large", std::string(2 * mib, 'x')))).status, 200);
}

TEST_F(Memory, ABodyThatBringsNothingIsNotWaitedFor) {
    settings.server.body_idle = milliseconds(50);
    start();

    const raw_reply reply = unfinished(2 * mib)->read_reply();

    EXPECT_EQ(reply.status, 408);
    EXPECT_THAT(reply.body, HasSubstr("request_timeout"));
}

TEST_F(Memory, ABodyThatDripsTimesOutHoweverMuchArrivedBefore) {
    settings.server.body = milliseconds(100);
    settings.server.body_idle = milliseconds(100);
    start();
    const auto client = unfinished(2 * mib);
    std::thread dripping([&client] {
        // Ends when the server closes the connection. Each byte comes long before its own time
        // limit.
        while (client->send(" ")) {
            std::this_thread::sleep_for(milliseconds(5));
        }
    });

    const raw_reply reply = client->read_reply();
    EXPECT_EQ(reply.status, 408);
    dripping.join();
}

TEST_F(Memory, OneAddressCannotTakeTheMemoryOfOthers) {
    settings.server.trusted_proxies = {"127.0.0.1"};
    settings.server.max_unfinished_bytes = 3 * mib;
    settings.server.max_memory_bytes = 32 * mib;
    start();
    const std::string one = "X-Forwarded-For: 198.51.100.1, 203.0.113.1\r\n";
    const std::string other = "X-Forwarded-For: 203.0.113.1, 203.0.113.2\r\n";
    const auto first = announced(2 * mib + 65'536, 0, one);
    wait_for_memory(10 * mib, 16 * mib);

    const std::string large = run_body("t", "large", std::string(2 * mib, 'x'));
    const raw_reply refused = ask(post("/agui", large, one));
    EXPECT_EQ(refused.status, 429);
    EXPECT_THAT(refused.body, HasSubstr("rate_limited"));
    EXPECT_EQ(ask(post("/agui", run_body("t", "small"), one)).status, 200);
    EXPECT_EQ(ask(post("/agui", large, other)).status, 200);
    // A body stops counting once it has arrived, so the same address may send the next one.
    first->close();
    wait_for_memory(0, 2 * mib);
    EXPECT_EQ(ask(post("/agui", large, one)).status, 200);
    EXPECT_EQ(ask(post("/agui", large, one)).status, 200);
}

TEST_F(Memory, ReadersOfFilesTakeNone) {
    const temporary_folder folder;
    std::ofstream(folder.file("large.txt")) << std::string(4 * mib, 'x');
    settings.server.static_dir = folder.path();
    start();
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(std::make_unique<raw_client>(port(), small_window));
        clients.back()->send(get("/large.txt"));
        EXPECT_EQ(clients.back()->read_head().status, 200);
        EXPECT_EQ(server->memory_used(), 0U);
    }
    EXPECT_EQ(ask(get("/large.txt")).body.size(), 4 * mib);
}

TEST_F(Memory, ARunEndsWhenThereIsNoMemoryForItsEvents) {
    answer_at_length(8 * mib, false);
    start();

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_TRUE(reply.complete);
    EXPECT_THAT(reply.body, HasSubstr("token_limit"));
    EXPECT_LE(server->memory_used(), 16 * mib);
}

TEST_F(Memory, EndlessRunsThatNobodyReadsLeaveRoomForOthers) {
    // The reserve, an eighth, holds the bytes that one more read of each answer adds: ten times 64
    // KiB, counted six times.
    settings.server.max_memory_bytes = 48 * mib;
    answer_at_length(8 * mib, false);
    start();
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(std::make_unique<raw_client>(port(), small_window));
        clients.back()->send(post("/agui", run_body("t" + std::to_string(i), "r")));
        EXPECT_EQ(clients.back()->read_head().status, 200);
    }
    answer = say("Hello");
    for (int i = 0; i < 10; ++i) {
        const raw_reply reply = ask(post("/agui", run_body("s" + std::to_string(i), "r")));
        EXPECT_THAT(reply.body, HasSubstr("\"RUN_FINISHED\""));
        EXPECT_THAT(reply.body, Not(HasSubstr("token_limit")));
    }
    EXPECT_LE(server->memory_used(), 48 * mib);
}

TEST_F(Memory, LogsReadAgainShareIt) {
    use_sqlite();
    answer_at_length(2 * mib, true);
    start();
    for (int i = 0; i < 10; ++i) {
        const raw_reply reply = ask(post("/agui", run_body("t" + std::to_string(i), "r")));
        ASSERT_THAT(reply.body, Not(HasSubstr("token_limit")));
    }
    wait_for_memory(0, 0);

    std::vector<std::unique_ptr<raw_client>> clients;
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(std::make_unique<raw_client>(port(), small_window));
        clients.back()->send(get("/agui/threads/t" + std::to_string(i) + "/runs/r/events"));
        refused += clients.back()->read_head().status == 503 ? 1 : 0;
        EXPECT_LE(server->memory_used(), 17 * mib);
    }
    EXPECT_GE(refused, 3);
    EXPECT_LE(refused, 5);
    clients.clear();
    wait_for_memory(0, 0);
}

TEST_F(Memory, LogsThatAreKeptGiveWayToNewOnes) {
    answer_at_length(mib, true);
    start();
    for (int i = 0; i < 10; ++i) {
        const raw_reply reply = ask(post("/agui", run_body("t" + std::to_string(i), "r")));
        EXPECT_THAT(reply.body, Not(HasSubstr("token_limit"))) << i;
    }
    EXPECT_LE(server->memory_used(), 4 * mib) << "a quarter of it";
    EXPECT_EQ(ask(get("/agui/threads/t0/runs/r/events")).status, 410);
    EXPECT_EQ(ask(get("/agui/threads/t9/runs/r/events")).status, 200);
}

TEST_F(Memory, EphemeralRunsLeaveLittle) {
    use_sqlite();
    answer_at_length(mib, true);
    start();
    for (int i = 0; i < 10; ++i) {
        std::string body = run_body("t" + std::to_string(i), "r");
        const std::string_view props = R"("forwardedProps":{)";
        body.insert(body.find(props) + props.size(), R"("ephemeral":true)");
        const raw_reply reply = ask(post("/agui", body));
        EXPECT_THAT(reply.body, Not(HasSubstr("token_limit"))) << i;
    }
    EXPECT_LE(server->memory_used(), 6 * mib)
        << "a quarter of it for their logs, an eighth for them";
    EXPECT_EQ(ask(get("/agui/threads/t0/runs/r/events")).status, 404) << "the oldest are gone";
    EXPECT_EQ(ask(get("/agui/threads/t9/runs/r/events")).status, 200);
}

TEST_F(Memory, ReadersOfALongConversationShareIt) {
    settings.server.max_memory_bytes = 24 * mib;
    answer_at_length(3 * mib, true);
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    const std::size_t before = server->memory_used();
    std::vector<std::unique_ptr<raw_client>> clients;
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
        clients.push_back(std::make_unique<raw_client>(port(), small_window));
        clients.back()->send(get("/agui/threads/t/messages"));
    }
    for (const auto& client : clients) {
        refused += client->read_head().status == 503 ? 1 : 0;
        EXPECT_LE(server->memory_used(), 24 * mib);
    }
    EXPECT_GE(refused, 4);
    EXPECT_LE(refused, 6);
    clients.clear();
    wait_for_memory(0, before);
    EXPECT_EQ(ask(get("/agui/threads/t/messages")).status, 200);
}

#ifdef AGUI_FAILPOINTS

/// Holds threads that pass a place until the object is destroyed, or let_go() is called.
class held_place {
public:
    explicit held_place(std::string_view place) : place_(place) {}
    ~held_place() { let_go(); }
    held_place(const held_place&) = delete;
    held_place& operator=(const held_place&) = delete;

    /// Returns false after ten seconds.
    bool wait_for(int arrivals) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return arrived_ >= arrivals; });
    }
    void let_go() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    /// The number of times that another place was passed.
    int passed(std::string_view other) {
        const std::lock_guard lock(mutex_);
        return passed_[std::string(other)];
    }
    bool wait_for(std::string_view other, int times) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] {
            return passed_[std::string(other)] >= times;
        });
    }

private:
    const std::string place_;
    std::mutex mutex_;
    std::condition_variable changed_;
    int arrived_ = 0;
    bool open_ = false;
    std::map<std::string, int> passed_;
    failpoint_hook hook_{[this](std::string_view place) {
        std::unique_lock lock(mutex_);
        ++passed_[std::string(place)];
        arrived_ += place == place_ ? 1 : 0;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_ || place != place_; });
    }}; ///< Declared last, because it calls the other members.
};

std::string zeros(std::size_t bytes) {
    std::string list = "[0";
    while (list.size() < bytes) {
        list += ",0";
    }
    return list + "]";
}

std::string request_of_zeros(std::string_view method_and_path, std::size_t bytes) {
    std::string body = method_and_path.starts_with("PATCH") ? R"({"a":null})" : run_body("t", "r2");
    body.insert(1, R"("unknown":)" + zeros(bytes) + ",");
    if (method_and_path == "POST /agui") {
        return post("/agui", body);
    }
    return std::string(method_and_path) +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

struct large_body {
    std::string_view method_and_path;
    std::size_t bytes;
};

class LargeBodies : public Memory, public ::testing::WithParamInterface<large_body> {};

// There is one I/O thread, which is free while such a body is read.
TEST_P(LargeBodies, AreReadBesideTheConnections) {
    settings.server.max_memory_bytes = 1024 * mib;
    settings.server.threads = 1;
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    raw_client large(port());
    {
        held_place parse("input.parse");
        large.send(request_of_zeros(GetParam().method_and_path, GetParam().bytes));
        ASSERT_TRUE(parse.wait_for(1));
        EXPECT_EQ(ask(get("/healthz")).status, 200);
    }
    EXPECT_EQ(large.read_reply().status, 200);
    wait_for_memory(0, mib);
}

INSTANTIATE_TEST_SUITE_P(
    Routes, LargeBodies,
    ::testing::Values(
        large_body{"POST /agui", 300'000}, large_body{"POST /agui", 5 * mib},
        large_body{"POST /agui/history", 300'000}, large_body{"POST /agui/history", 5 * mib},
        large_body{"PATCH /agui/threads/t/state", 300'000},
        large_body{"PATCH /agui/threads/t/state", 1'000'000}
    )
);

TEST_F(Memory, APhotoDoesNotWaitForALargeBody) {
    settings.server.max_memory_bytes = 1024 * mib;
    settings.server.threads = 1;
    start();
    raw_client large(port());
    raw_client photo(port());
    held_place parse("input.parse");
    large.send(request_of_zeros("POST /agui", 5 * mib));
    ASSERT_TRUE(parse.wait_for(1));
    photo.send(post("/agui", run_body("other", "r", std::string(4 * mib - 1000, 'x'))));
    EXPECT_TRUE(parse.wait_for(2)) << "each has a thread";
    parse.let_go();

    EXPECT_EQ(photo.read_reply().status, 200);
    EXPECT_EQ(large.read_reply().status, 200);
}

// Until its run has begun, a request counts three copies of its text.
TEST_F(Memory, ASmallRequestCountsUntilItsRunHasBegun) {
    start();
    const std::string body = run_body("t", "r", std::string(200'000, 'x'));
    std::atomic<std::size_t> before{0};
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "begin.planned") {
            before = server->memory_used();
        }
    });

    ASSERT_EQ(ask(post("/agui", body)).status, 200);

    EXPECT_GE(before, 3 * body.size());
    EXPECT_LT(server->memory_used(), body.size());
}

TEST_F(Memory, AConversationIsNotReadBeforeThereIsRoomForIt) {
    use_sqlite();
    answer_at_length(2 * mib, true);
    start();
    ASSERT_THAT(ask(post("/agui", run_body("t", "r"))).body, HasSubstr("RUN_FINISHED"));
    const std::string history =
        post("/agui/history", R"({"threadId":"t","runId":"h","messages":[]})");
    std::atomic<int> reads{0};
    std::atomic<std::size_t> taken{0};
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "store.read_slice" && ++reads == 1) {
            taken = server->memory_used();
        }
    });
    wait_for_memory(0, 0);
    EXPECT_EQ(ask(history).status, 200);
    EXPECT_GE(taken, 2 * 2 * mib) << "as it is read, and as it is written";
    reads = 0;

    // The memory that is left suffices for it once.
    const auto others = unfinished_bodies(11 * mib);
    wait_for_memory(11 * mib, 16 * mib);
    const raw_reply refused = ask(history);
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("overloaded"));
    EXPECT_EQ(reads, 0);
}

TEST_F(Memory, SixtyFourClientsWaitForALargeReply) {
    use_sqlite();
    settings.server.threads = 1;
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    held_place read("store.read");
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 1 + 64; ++i) {
        clients.push_back(std::make_unique<raw_client>(port()));
        clients.back()->send(get("/agui/threads/t/messages"));
    }
    ASSERT_TRUE(read.wait_for("reply.asked", 1 + 64));

    const raw_reply refused = ask(get("/agui/threads/t/messages"));
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("Too many large replies"));
    read.let_go();
    for (const auto& client : clients) {
        EXPECT_EQ(client->read_reply().status, 200);
    }
}

// Large replies are made one at a time, and no client waits for the replies of clients that have
// disconnected.
TEST_F(Memory, AReplyIsNotMadeForAClientThatHasLeft) {
    use_sqlite();
    settings.server.threads = 1;
    start();
    ASSERT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200);
    held_place read("store.read");
    raw_client first(port());
    first.send(get("/agui/threads/t/messages"));
    ASSERT_TRUE(read.wait_for("reply.made", 1));
    raw_client leaving(port());
    leaving.send(get("/agui/threads/t/messages"));
    raw_client last(port());
    last.send(get("/agui/threads/t/messages"));
    ASSERT_TRUE(read.wait_for("reply.asked", 3));
    leaving.close();
    read.let_go();

    EXPECT_EQ(first.read_reply().status, 200);
    EXPECT_EQ(last.read_reply().status, 200);
    EXPECT_EQ(read.passed("reply.made"), 2);
}

#endif

// As JSON values, each copy of the state would take 16 MB.
TEST_F(Memory, AStateTakesItsTextOnly) {
    settings.server.max_memory_bytes = 8 * mib; // As JSON values, the zeros would take 8 MB.
    start();
    std::string list = "[0";
    for (std::size_t i = 0; i < mib / 2 - 4; ++i) {
        list += ",0";
    }
    list += "]";
    std::string zeros = run_body("t", "r");
    constexpr std::string_view given = R"("state":null)";
    zeros.replace(zeros.find(given), given.size(), "\"state\":" + list);
    EXPECT_EQ(ask(post("/agui", zeros)).status, 200);
    EXPECT_TRUE(ask(get("/agui/threads/t/state")).body == "{\"state\":" + list + "}");
    wait_for_memory(0, 3 * mib); // The log of the run shows it, too.
}

// The thread is loaded and written for the model in several copies, each as large as all results
// together.
TEST_F(Memory, ARunOnAThreadThatIsTooLargeForItEndsAndNothingIsLost) {
    use_sqlite();
    options.tools.add(
        {"large", "Says much", {}},
        [](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
            co_return runner::tool_outcome{
                runner::tool_outcome::kind::result, std::string(1'000'000, 'x')
            };
        }
    );
    options.script_of = [](const gateway::model_config&) {
        return [](const runner::transport_request& request) {
            const std::size_t result = request.body.rfind(R"("role":"tool")");
            const bool answered =
                result != std::string::npos && result > request.body.rfind(R"("role":"user")");
            return std::optional(answered ? say("Done") : call_tool("large"));
        };
    };
    start();
    EXPECT_THAT(ask(post("/agui", run_body("t", "r0"))).body, HasSubstr("RUN_FINISHED"));
    std::string last;
    for (int i = 1; i < 6 && last.find("RUN_ERROR") == std::string::npos; ++i) {
        last = ask(post("/agui", run_body("t", "r" + std::to_string(i)))).body;
    }

    EXPECT_THAT(last, HasSubstr(R"("code":"overloaded")"));
    wait_for_memory(0, mib);
    EXPECT_EQ(ask(get("/agui/threads/t")).status, 200);
    EXPECT_THAT(ask(post("/agui", run_body("other", "r"))).body, HasSubstr("RUN_FINISHED"));
}

} // namespace
} // namespace agui::test
