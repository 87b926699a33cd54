// Requests whose thread changes after they first read it and before their run starts.
#include "session/base/failpoint.hpp"

#ifdef AGUI_FAILPOINTS

#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

// Holds the first request that passes a place, until it is released.
class held_request {
public:
    explicit held_request(std::string place) : place_(std::move(place)) {}

    [[nodiscard]] bool wait_until_held() {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [this] { return held_; });
    }
    void release() {
        const std::lock_guard lock(mutex_);
        released_ = true;
        changed_.notify_all();
    }
    [[nodiscard]] int conflicts() {
        const std::lock_guard lock(mutex_);
        return conflicts_;
    }

private:
    void pass(std::string_view place) {
        std::unique_lock lock(mutex_);
        conflicts_ += place == "begin.conflict" ? 1 : 0;
        if (place == place_ && !held_) {
            held_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return released_; });
        }
    }

    const std::string place_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool released_ = false;
    int conflicts_ = 0;
    failpoint_hook hook_{[this](std::string_view place) {
        pass(place);
    }}; ///< Declared last, because it calls the other members.
};

class ChangedThread : public server_test, public ::testing::WithParamInterface<bool> {
protected:
    ChangedThread() {
        settings.server.threads = 2; // One thread is held by the test.
        if (GetParam()) {
            use_sqlite();
        }
    }

    // Two connections that are served by different threads.
    struct connections {
        explicit connections(std::uint16_t port) : each{raw_client(port), raw_client(port)} {
            // Accepted in advance, because accepting takes a thread, too.
            for (raw_client& one : each) {
                one.send(get("/healthz"));
                EXPECT_EQ(one.read_reply().status, 200);
            }
        }

        // Returns the client that the free thread serves; the other client is answered later.
        raw_client& free() {
            for (std::size_t i = 0; i < 2; ++i) {
                readers[i] = std::jthread([this, i] {
                    each[i].send(get("/healthz"));
                    (void)each[i].read_reply();
                    if (is_first.exchange(false)) {
                        answered.set_value(i);
                    }
                });
            }
            const std::size_t found = answered.get_future().get();
            return each[found];
        }

        raw_client each[2];
        std::promise<std::size_t> answered;
        std::atomic<bool> is_first{true};
        std::jthread readers[2]; // Declared last, because they use everything above.
    };

    static std::string offering(std::string_view run_id, std::string_view message) {
        return post(
            "/agui", R"({"threadId":"t","protocolVersion":"1.1","runId":")" + std::string(run_id) +
                         R"(","messages":[)" + std::string(message) +
                         R"(],"tools":[{"name":"paint","description":"Paints"}]})"
        );
    }
};

INSTANTIATE_TEST_SUITE_P(Stores, ChangedThread, ::testing::Bool(), [](const auto& info) {
    return info.param ? "Sqlite" : "Memory";
});

TEST_P(ChangedThread, IsPlannedAgain) {
    start();
    ask(post("/agui", run_body("t", "r1", "first")));
    held_request held("begin.planned");
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r2", "second")));
    ASSERT_TRUE(held.wait_until_held());

    // A program that embeds the server need not hold the thread.
    session::changes change;
    change.state = json_text(R"({"color":"blue"})");
    boost::asio::io_context context;
    auto stored = boost::asio::co_spawn(
        context, server->store().commit({"", "t"}, std::move(change)), boost::asio::use_future
    );
    context.run();
    EXPECT_TRUE(stored.get());
    held.release();

    EXPECT_THAT(client.read_until("\r\n0\r\n\r\n"), HasSubstr("RUN_FINISHED"));
    EXPECT_GE(held.conflicts(), 1);
    const std::string messages = ask(get("/agui/threads/t/messages")).body;
    EXPECT_THAT(messages, HasSubstr("second"));
    EXPECT_EQ(messages.find("second"), messages.rfind("second")) << "once";
    EXPECT_THAT(ask(get("/agui/threads/t/state")).body, HasSubstr("blue"));
}

TEST_P(ChangedThread, APlanThatFailsOnAStaleThreadIsMadeAgain) {
    settings.session.history.on_abandoned = session::on_abandoned::reject;
    answer = call_tool("paint");
    start();
    ask(offering("r1", R"({"id":"m1","role":"user","content":"paint"})"));
    ASSERT_THAT(ask(get("/agui/threads/t/pending")).body, HasSubstr("c1"));
    answer = say("Done");
    connections others(port());
    held_request held("admission.looked_up");
    raw_client client(port());
    client.send(offering("r3", R"({"id":"m3","role":"user","content":"and then?"})"));
    ASSERT_TRUE(held.wait_until_held()) << "it has seen a call that waits";

    raw_client& other = others.free();
    other.send(offering("r2", R"({"role":"tool","toolCallId":"c1","content":"done"})"));
    EXPECT_THAT(other.read_until("\r\n0\r\n\r\n"), HasSubstr("RUN_FINISHED"));
    held.release();

    const raw_reply reply = client.read_reply();
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
}

} // namespace
} // namespace agui::test

#endif
