// A message that waits for the run before it, and what stops or ends the wait.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace agui::test {
namespace {

#ifdef AGUI_FAILPOINTS

using ::testing::HasSubstr;
using ::testing::Not;

class WaitingMessage : public server_test {
protected:
    WaitingMessage() {
        answer = say_and_stall("Hello");
        settings.server.threads = 2;
        settings.session.busy_wait = std::chrono::hours(1);
    }

    std::unique_ptr<raw_client> read_run(std::string_view run_id) {
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui", run_body("t", run_id)));
        EXPECT_THAT(client->read_until("Hello"), HasSubstr("Hello"));
        return client;
    }

    static bool wait_for(const std::atomic<bool>& what) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!what && std::chrono::steady_clock::now() < give_up) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return what;
    }
};

TEST_F(WaitingMessage, AStopOfTheThreadStopsItToo) {
    start();
    const auto first = read_run("r");
    std::atomic<bool> waits{false};
    const failpoint_hook hook([&waits](std::string_view place) {
        waits = waits || place == "admission.waits";
    });
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    ASSERT_TRUE(wait_for(waits));

    const raw_reply stopped = ask(post("/agui/cancel", R"({"threadId":"t"})"));

    EXPECT_EQ(stopped.body, R"({"cancelled":true})");
    EXPECT_THAT(first->read_until("user_stop"), HasSubstr("user_stop"));
    // It may have had the thread in the last moment: then it ends as stopped.
    const raw_reply reply = second.read_reply();
    EXPECT_THAT(reply.body, Not(HasSubstr("Hello")));
    EXPECT_TRUE(reply.status == 409 || reply.body.find("user_stop") != std::string::npos)
        << reply.body;
}

TEST_F(WaitingMessage, AStopOfItsRunEndsTheWait) {
    start();
    const auto first = read_run("r");
    std::atomic<bool> waits{false};
    const failpoint_hook hook([&waits](std::string_view place) {
        waits = waits || place == "admission.waits";
    });
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    ASSERT_TRUE(wait_for(waits));

    (void)ask(post("/agui/cancel", R"({"threadId":"t","runId":"s"})"));

    EXPECT_EQ(second.read_reply().status, 409);
    EXPECT_THAT(ask(get("/agui/threads/t")).body, HasSubstr(R"("activeRunId":"r")"));
}

TEST_F(WaitingMessage, WaitsAlsoWhereRunsWithoutAReaderAreNotSuperseded) {
    settings.session.supersede_detached = false;
    start();
    const auto first = read_run("r");
    std::atomic<bool> waits{false};
    const failpoint_hook hook([&waits](std::string_view place) {
        waits = waits || place == "admission.waits";
    });
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    ASSERT_TRUE(wait_for(waits));

    (void)ask(post("/agui/cancel", R"({"threadId":"t","runId":"r"})"));

    EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
}

TEST_F(WaitingMessage, ARunThatEndsBeforeItIsWatchedIsNotWaitedFor) {
    start();
    const auto first = read_run("r");
    raw_client stops[] = {raw_client(port()), raw_client(port())}; // One of each thread.
    for (raw_client& one : stops) {
        one.send(get("/healthz"));
        ASSERT_EQ(one.read_reply().status, 200);
    }
    std::atomic<bool> over{false};
    std::atomic<bool> done{false};
    const failpoint_hook hook([&](std::string_view place) {
        over = over || place == "run.end_published";
        if (place == "admission.busy" && !done) {
            for (raw_client& one : stops) {
                one.send(post("/agui/cancel", R"({"threadId":"t","runId":"r"})"));
            }
            done = wait_for(over);
        }
    });

    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));

    EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
    EXPECT_TRUE(done);
}

#endif

} // namespace
} // namespace agui::test
