// A client that disconnects has stopped its run unless it comes back. A new message may arrive
// before the gateway notices the disconnect.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

enum class waiting_store { memory, sqlite };

#ifdef AGUI_FAILPOINTS

/// Counts how often each place is passed.
class place_watch {
public:
    /// Returns false if the place was not passed in time.
    bool wait_for(const std::string& place) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return passed_[place] > 0; });
    }
    int passed(const std::string& place) {
        const std::lock_guard lock(mutex_);
        return passed_[place];
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, int> passed_;
    failpoint_hook hook_{[this](std::string_view place) {
        const std::lock_guard lock(mutex_);
        ++passed_[std::string(place)];
        changed_.notify_all();
    }}; ///< Declared last, because it calls the other members.
};

#endif

class BusyWait : public server_test, public ::testing::WithParamInterface<waiting_store> {
protected:
    BusyWait() {
        answer = say_and_stall("Hello");
        settings.server.threads = 2;
        if (GetParam() == waiting_store::sqlite) {
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

    /// Posts another message to the thread and returns once it waits for its turn.
    std::unique_ptr<raw_client> post_and_wait(std::string_view run_id) {
#ifdef AGUI_FAILPOINTS
        std::promise<void> waits;
        std::atomic<bool> told{false};
        const failpoint_hook hook([&](std::string_view place) {
            if (place == "admission.waits" && !told.exchange(true)) {
                waits.set_value();
            }
        });
#endif
        auto client = std::make_unique<raw_client>(port());
        client->send(post("/agui", run_body("t", run_id)));
#ifdef AGUI_FAILPOINTS
        EXPECT_EQ(waits.get_future().wait_for(patience), std::future_status::ready);
#endif
        return client;
    }

    bool is_active(std::string_view thread = "t") {
        return ask(get("/agui/threads/" + std::string(thread))).body.find("activeRunId") !=
               std::string::npos;
    }

    bool ends(std::string_view thread = "t") {
        const auto give_up = std::chrono::steady_clock::now() + patience;
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
        // A browser does not wait for a connection before it sends a new request, either.
        raw_client second(port());

        client->close();
        second.send(post("/agui", run_body("t", "s" + std::to_string(i))));

        EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
        EXPECT_THAT(events_of("r" + std::to_string(i)), HasSubstr("superseded"));
        second.close();
    }
}

TEST_P(BusyWait, TheLeavingMayBeSeenAfterTheMessage) {
    settings.session.busy_wait = std::chrono::seconds(20); // The test decides when the wait ends.
    start();
    const auto client = read_run("r");
    const auto second = post_and_wait("s");

    client->close();

    EXPECT_THAT(second->read_until("Hello"), HasSubstr("HTTP/1.1 200"));
    EXPECT_THAT(events_of("r"), HasSubstr("superseded"));
}

TEST_P(BusyWait, AWaitingMessageContinuesWhenTheRunEnds) {
    settings.session.busy_wait = std::chrono::seconds(20);
    start();
    const auto client = read_run("r");
    const auto second = post_and_wait("s");

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"r"})")).body, R"({"cancelled":true})"
    );

    EXPECT_THAT(second->read_until("Hello"), HasSubstr("HTTP/1.1 200"));
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

TEST_P(BusyWait, AClientThatComesBackInTimeLosesNothing) {
    start();
    std::string seen;
    {
        raw_client client(port());
        client.send(post("/agui", run_body("t", "r")));
        seen = client.read_until("Hello");
    }

    const auto again = read_run("r"); // A reload posts the same request again.

    EXPECT_TRUE(is_active());
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})")
        << "it was still going";
    EXPECT_THAT(again->read_until("\r\n0\r\n\r\n"), HasSubstr("user_stop"));
}

TEST_P(BusyWait, AClientThatLeavesForGoodHasStopped) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("grace:1").value();
    start();
    read_run("r")->close();

    EXPECT_TRUE(ends());

    EXPECT_THAT(events_of("r"), HasSubstr("user_stop"));
}

TEST_P(BusyWait, AClientThatComesBackEndsTheGracePeriod) {
    settings.server.on_disconnect = gateway::disconnect_policy_from_string("grace:1").value();
    start();
    read_run("r");
    const auto again = read_run("r");
    // Another run's grace period begins later. When it has expired, so has the first one's.
    read_run("r", {}, "other");
    ASSERT_TRUE(ends("other"));

    EXPECT_TRUE(is_active());
}

TEST_P(BusyWait, WorkInTheBackgroundContinues) {
    start();
    read_run("r", "X-On-Disconnect: continue\r\n");
    read_run("r", "X-On-Disconnect: grace:0\r\n", "other");
    ASSERT_TRUE(ends("other"));

    EXPECT_TRUE(is_active());
}

TEST_P(BusyWait, AMessageStopsARunThatIsReadWhereItMay) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    settings.session.supersede_detached = false;
    settings.session.busy_wait = std::chrono::milliseconds(0);
    start();
    const auto client = read_run("r");

    const auto second = read_run("s");

    const std::string rest = client->read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr("superseded"));
    EXPECT_THAT(rest, HasSubstr("RUN_FINISHED"));
    EXPECT_TRUE(is_active()) << "the second run";
}

TEST_P(BusyWait, AToolAnswerStopsNoRun) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    start();
    const auto client = read_run("r");

    EXPECT_EQ(ask(post("/agui", tool_answer("s"))).status, 409);
    EXPECT_TRUE(is_active());
}

TEST_P(BusyWait, IfManyMessagesSupersedeEachOtherTheLastIsAnswered) {
    settings.session.on_busy = gateway::busy_policy::supersede;
    settings.session.busy_wait = std::chrono::milliseconds(0);
    start();
    constexpr std::size_t messages = 20;
    std::vector<std::unique_ptr<raw_client>> clients;
    for (std::size_t i = 0; i < messages; ++i) {
        clients.push_back(std::make_unique<raw_client>(port()));
        clients.back()->send(post("/agui", run_body("t", "r" + std::to_string(i))));
    }

    for (const auto& client : clients) {
        // Each run has begun: none got 409.
        EXPECT_THAT(client->read_until("RUN_STARTED"), HasSubstr("HTTP/1.1 200"));
    }
    const std::string thread = ask(get("/agui/threads/t")).body;
    std::size_t stopped = 0;
    for (std::size_t i = 0; i < messages; ++i) {
        if (thread.find(R"("activeRunId":"r)" + std::to_string(i) + '"') == std::string::npos) {
            EXPECT_THAT(clients[i]->read_until("RUN_FINISHED"), HasSubstr("superseded"));
            ++stopped;
        }
    }
    EXPECT_EQ(stopped, messages - 1);
}

#ifdef AGUI_FAILPOINTS

TEST_P(BusyWait, AMessageWaitsAlsoWhereNoRunGivesWay) {
    settings.session.supersede_detached = false;
    settings.session.busy_wait = std::chrono::hours(1);
    start();
    const auto client = read_run("r");
    place_watch watch;
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    ASSERT_TRUE(watch.wait_for("admission.waits"));

    ask(post("/agui/cancel", R"({"threadId":"t","runId":"r"})"));

    EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
}

TEST_P(BusyWait, ARunWithoutReadersContinuesIfNoneGivesWay) {
    settings.session.supersede_detached = false;
    settings.session.busy_wait = std::chrono::milliseconds(20);
    start();
    read_run("r", "X-On-Disconnect: continue\r\n");

    EXPECT_EQ(ask(post("/agui", run_body("t", "s"))).status, 409);
    EXPECT_TRUE(is_active());
}

TEST_P(BusyWait, ARunThatEndsBeforeItIsWatchedIsNotMissed) {
    settings.session.busy_wait = std::chrono::hours(1);
    start();
    const auto client = read_run("r");
    raw_client stop(port()); // Either of the two clients is served by the thread that is not held.
    raw_client other(port());
    for (raw_client* one : {&stop, &other}) {
        one->send(get("/healthz"));
        ASSERT_EQ(one->read_reply().status, 200);
    }
    std::atomic<bool> ended{false};
    std::atomic<int> waits{0};
    const failpoint_hook hook([&](std::string_view place) {
        waits += place == "admission.waits" ? 1 : 0;
        if (place == "admission.busy") {
            for (raw_client* one : {&stop, &other}) {
                one->send(post("/agui/cancel", R"({"threadId":"t","runId":"r"})"));
            }
            ended = client->read_until("\r\n0\r\n\r\n").find("user_stop") != std::string::npos;
        }
    });

    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));

    EXPECT_THAT(second.read_until("Hello"), HasSubstr("HTTP/1.1 200"));
    EXPECT_TRUE(ended);
    EXPECT_EQ(waits, 0);
}

TEST_P(BusyWait, AStopOfAMessageThatWaitsAnswersItAtOnce) {
    settings.session.busy_wait = std::chrono::hours(1);
    start();
    const auto client = read_run("r");
    place_watch watch;
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    ASSERT_TRUE(watch.wait_for("admission.waits"));

    const raw_reply stop = ask(post("/agui/cancel", R"({"threadId":"t","runId":"s"})"));

    EXPECT_EQ(stop.body, R"({"cancelled":false})") << "it has not become a run";
    EXPECT_EQ(second.read_reply().status, 409);
    EXPECT_TRUE(is_active()) << "the other run goes on";
}

TEST_P(BusyWait, AStopOfTheThreadStopsTheMessageThatWaitsToo) {
    settings.session.busy_wait = std::chrono::hours(1);
    start();
    const auto client = read_run("r");
    place_watch watch;
    raw_client second(port());
    second.send(post("/agui", run_body("t", "s")));
    ASSERT_TRUE(watch.wait_for("admission.waits"));

    const raw_reply stop = ask(post("/agui/cancel", R"({"threadId":"t"})"));

    EXPECT_EQ(stop.body, R"({"cancelled":true})");
    EXPECT_THAT(client->read_until("\r\n0\r\n\r\n"), HasSubstr("user_stop"));
    // Both are right, because the thread may be free when the gateway answers.
    const raw_reply reply = second.read_reply();
    EXPECT_TRUE(reply.status == 409 || reply.body.find("user_stop") != std::string::npos)
        << reply.status << " " << reply.body;
    EXPECT_THAT(reply.body, Not(HasSubstr("Hello")));
    EXPECT_FALSE(is_active());
}

#endif

INSTANTIATE_TEST_SUITE_P(
    Stores, BusyWait, ::testing::Values(waiting_store::memory, waiting_store::sqlite),
    [](const auto& of) { return of.param == waiting_store::memory ? "Memory" : "Sqlite"; }
);

} // namespace
} // namespace agui::test
