// Who leaves has stopped, unless they come back; and a new message may arrive before the leaving is
// seen.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace agui::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum class store_kind { memory, sqlite };

class BusyWait : public server_test, public ::testing::WithParamInterface<store_kind> {
protected:
    BusyWait() {
        answer = say_and_stall("Hello");
        settings.server.threads = 2;
        if (GetParam() == store_kind::sqlite) {
            use_sqlite();
        }
    }

    /// Reads a run until the model has begun to speak.
    std::unique_ptr<raw_client> read_run(
        std::string_view run_id, std::string_view headers = {}, std::string_view thread = "t"
    ) {
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui", run_body(thread, run_id), headers));
        EXPECT_THAT(client->read_until("Hello"), HasSubstr("Hello"));
        return client;
    }

    std::string events_of(std::string_view run_id) {
        return ask(get("/agui/threads/t/runs/" + std::string(run_id) + "/events")).body;
    }

    bool is_active(std::string_view thread = "t") {
        return ask(get("/agui/threads/" + std::string(thread))).body.find("activeRunId") !=
               std::string::npos;
    }

    bool ends(std::string_view thread = "t") {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (is_active(thread)) {
            if (std::chrono::steady_clock::now() > give_up) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }
};

std::string tool_answer(std::string_view run_id) {
    return R"({"threadId":"t","runId":")" + std::string(run_id) +
           R"(","messages":[{"id":"m","role":"tool","toolCallId":"none","content":""}]})";
}

TEST_P(BusyWait, AStopAndANewMessageAtOnceAreNeverBusy) {
    start();
    for (int i = 0; i < 200; ++i) {
        SCOPED_TRACE(i);
        const auto client = read_run("r" + std::to_string(i));
        // As a browser has it: the new request does not wait for a connection.
        raw_client second(port());

        client->close();
        second.send(post("/agui", run_body("t", "s" + std::to_string(i))));

        EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
        EXPECT_THAT(events_of("r" + std::to_string(i)), HasSubstr("superseded"));
        second.close();
    }
}

TEST_P(BusyWait, TheLeavingMayBeSeenAfterTheMessage) {
    settings.session.busy_wait = std::chrono::seconds(20); // The test says when.
    start();
    const auto client = read_run("r");
    std::atomic<bool> waits{false};
#ifdef AGUI_FAILPOINTS
    const failpoint_hook hook([&waits](std::string_view place) {
        waits = waits || place == "admission.waits";
    });
#else
    waits = true;
#endif
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!waits && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(waits);

    client->close();

    EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
    EXPECT_THAT(events_of("r"), HasSubstr("superseded"));
}

TEST_P(BusyWait, AMessageThatWaitsGoesOnWhenTheRunEnds) {
    settings.session.busy_wait = std::chrono::seconds(20);
    start();
    const auto client = read_run("r");
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"r"})")).body, R"({"cancelled":true})"
    );

    EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
    EXPECT_THAT(events_of("r"), HasSubstr("user_stop"));
}

TEST_P(BusyWait, AThreadWhoseRunIsReadStaysBusy) {
    settings.session.busy_wait = std::chrono::milliseconds(20);
    start();
    const auto client = read_run("r");

    const raw_reply refused = ask(post("/agui", run_body("t", "s")));

    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr(R"("activeRunId":"r")"));
    EXPECT_TRUE(is_active());
}

TEST_P(BusyWait, OnlyAMessageWaits) {
    settings.session.busy_wait = std::chrono::hours(1);
    start();
    const auto client = read_run("r");

    EXPECT_EQ(ask(post("/agui", tool_answer("s"))).status, 409);
}

TEST_P(BusyWait, WithoutAWaitTheAnswerComesAtOnce) {
    settings.session.busy_wait = std::chrono::milliseconds(0);
    start();
    const auto client = read_run("r");
    bool waited = false;
#ifdef AGUI_FAILPOINTS
    const failpoint_hook hook([&waited](std::string_view place) {
        waited = waited || place == "admission.waits";
    });
#endif

    EXPECT_EQ(ask(post("/agui", run_body("t", "s"))).status, 409);
    EXPECT_FALSE(waited);
}

TEST_P(BusyWait, WhoComesBackInTimeLosesNothing) {
    start();
    std::string seen;
    {
        raw_client client(port());
        client.send(post("/agui", run_body("t", "r")));
        seen = client.read_until("Hello");
    }

    const auto again = read_run("r"); // A reload posts the same again.

    EXPECT_TRUE(is_active());
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})")
        << "it was still going";
    EXPECT_THAT(again->read_until("\r\n0\r\n\r\n"), HasSubstr("user_stop"));
}

TEST_P(BusyWait, WhoLeavesForGoodHasStopped) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("grace:1").value();
    start();
    read_run("r")->close();

    EXPECT_TRUE(ends());

    EXPECT_THAT(events_of("r"), HasSubstr("user_stop"));
}

TEST_P(BusyWait, WhoComesBackWithinTheGraceStopsItsEnd) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("grace:1").value();
    start();
    read_run("r");
    const auto again = read_run("r");
    // Another run's grace begins later and is over: so is that of the first leaving.
    read_run("r", {}, "other");
    ASSERT_TRUE(ends("other"));

    EXPECT_TRUE(is_active());
}

TEST_P(BusyWait, WorkInTheBackgroundGoesOn) {
    start();
    read_run("r", "X-On-Disconnect: continue\r\n");
    read_run("r", "X-On-Disconnect: grace:0\r\n", "other");
    ASSERT_TRUE(ends("other"));

    EXPECT_TRUE(is_active());
}

INSTANTIATE_TEST_SUITE_P(
    Stores, BusyWait, ::testing::Values(store_kind::memory, store_kind::sqlite),
    [](const auto& of) { return of.param == store_kind::memory ? "Memory" : "Sqlite"; }
);

} // namespace
} // namespace agui::test
