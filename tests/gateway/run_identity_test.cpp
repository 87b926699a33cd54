// The id and the idempotency key of a run, the holder of its thread, and the beginning of its
// stream after the original was lost.

#include "session/base/failpoint.hpp"
#include "session/store/store.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/json/parse.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace agui::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

boost::json::object error_of(const raw_reply& reply) {
    boost::system::error_code ec;
    const boost::json::value body = boost::json::parse(reply.body, ec);
    const auto* fields = ec ? nullptr : body.if_object();
    const auto* error = fields == nullptr ? nullptr : fields->if_contains("error");
    return error == nullptr ? boost::json::object{{"code", "none: " + reply.body}}
                            : error->as_object();
}

// The JSON of the stream's first event.
std::string first_event(const raw_reply& stream) {
    const std::size_t begin = stream.body.find("data: ");
    return begin == std::string::npos ? stream.body
                                      : stream.body.substr(begin, stream.body.find("\n\n") - begin);
}

class RunIdentity : public server_test {
protected:
    static std::string ephemeral(std::string body) {
        const std::string_view none = R"("forwardedProps":{})";
        return body.replace(body.find(none), none.size(), R"("forwardedProps":{"ephemeral":true})");
    }
};

TEST_F(RunIdentity, AConflictNamesItsKeyOrRunId) {
    start();
    const std::string header = "Idempotency-Key: k1\r\n";
    ask(post("/agui", run_body("t", "r1"), header));

    const auto by_key = error_of(ask(post("/agui", run_body("t", "r2", "other"), header)));
    const auto by_run = error_of(ask(post("/agui", run_body("t", "r1", "other"), header)));

    EXPECT_EQ(by_key.at("code").as_string(), "run_id_reused");
    EXPECT_EQ(by_key.at("path").as_string(), "Idempotency-Key");
    EXPECT_EQ(by_run.at("code").as_string(), "run_id_reused");
    EXPECT_EQ(by_run.at("path").as_string(), "runId");
}

TEST_F(RunIdentity, TheAgentIsAPartOfIt) {
    gateway::agent_config second = settings.agents.at(0);
    second.id = "second";
    settings.agents.push_back(std::move(second));
    start();
    const raw_reply first = ask(post("/agui", run_body("t", "r")));

    const raw_reply other = ask(post("/agui/agents/second", run_body("t", "r")));
    EXPECT_EQ(other.status, 409) << other.body;
    EXPECT_EQ(error_of(other).at("code").as_string(), "run_id_reused");
    EXPECT_EQ(ask(post("/agui/agents/default", run_body("t", "r"))).body, first.body)
        << "the default agent by its name";
}

TEST_F(RunIdentity, AStreamWhoseBeginningWasLostBeginsAsItWould) {
    use_sqlite();
    {
        // A store as a process leaves it that is killed right after it has begun the run.
        const auto store = session::make_sqlite_store({.path = settings.session.sqlite_path});
        session::run_record run;
        run.run_id = "r";
        run.parent_run_id = "parent";
        run.agent_id = "default";
        run.protocol = "1.1";
        run.started_at = 1;
        boost::asio::io_context context;
        auto begun = boost::asio::co_spawn(
            context, store->begin({"", "t"}, run, {}), boost::asio::use_future
        );
        context.run();
        ASSERT_TRUE(begun.get());
        store->close();
    }
    start();
    const std::string path = "/agui/threads/t/runs/r/events";

    EXPECT_THAT(
        first_event(ask(get(path))), HasSubstr(R"("parentRunId":"parent","protocolVersion":"1.1")")
    );
    EXPECT_THAT(
        first_event(ask(get(path + "?protocolVersion=1.0"))),
        HasSubstr(R"("parentRunId":"parent","protocolVersion":"1.0")")
    );
    const std::string undeclared = first_event(ask(get(path + "?protocolVersion=")));
    EXPECT_THAT(undeclared, HasSubstr(R"("parentRunId":"parent")"));
    EXPECT_THAT(undeclared, Not(HasSubstr("protocolVersion")));
}

TEST_F(RunIdentity, AnEphemeralConversationIsNotRemovedUnderARun) {
    start();
    ask(post("/agui", ephemeral(run_body("held", "first"))));
    answer = say_and_stall("Hello");
    raw_client client(port());
    client.send(post("/agui", ephemeral(run_body("held", "second"))));
    ASSERT_THAT(client.read_until("Hello"), HasSubstr("Hello"));
    answer = say("Hi");
    for (int i = 0; i < 1'001; ++i) { // More than are kept, and the held one is the oldest.
        ask(post("/agui", ephemeral(run_body("t" + std::to_string(i), "r"))));
    }

    ask(post("/agui/cancel", R"({"threadId":"held","runId":"second"})"));

    EXPECT_THAT(client.read_until("\r\n0\r\n\r\n"), HasSubstr("user_stop"));
}

#ifdef AGUI_FAILPOINTS

TEST_F(RunIdentity, ARunThatCannotStartDoesNotBlockTheDrain) {
    start();
    bool thrown = false;
    const failpoint_hook hook([&thrown](std::string_view place) {
        if (place == "launch.registered" && !std::exchange(thrown, true)) {
            throw std::runtime_error("no memory");
        }
    });

    EXPECT_EQ(ask(post("/agui", run_body("t", "r"))).status, 500);
    EXPECT_TRUE(thrown);
    EXPECT_THAT(ask(post("/agui", run_body("t", "r2"))).body, HasSubstr("RUN_FINISHED"));

    server->request_stop();
    EXPECT_TRUE(server->wait_bounded(patience));
}

TEST_F(RunIdentity, AFollowerIsToldThatItsRunCannotStart) {
    settings.server.threads = 2;
    start();
    // Connections are distributed to the two threads in turn, so the third gets the first thread.
    raw_client other(port());
    raw_client follower(port());
    for (raw_client* one : {&other, &follower}) {
        one->send(get("/healthz"));
        ASSERT_EQ(one->read_reply().status, 200);
    }
    bool thrown = false;
    std::string followed;
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "launch.registered" && !std::exchange(thrown, true)) {
            follower.send(post(
                "/agui/history",
                R"({"threadId":"t","runId":"h","messages":[],"forwardedProps":{"follow":true}})"
            ));
            // The follower has the thread and waits for the events of the run.
            followed = follower.read_until("RUN_FINISHED");
            throw std::runtime_error("no memory");
        }
    });

    EXPECT_EQ(ask(post("/agui", run_body("t", "r"))).status, 500);

    EXPECT_THAT(followed, HasSubstr("RUN_FINISHED"));
    const std::string rest = follower.read_until("\r\n0\r\n\r\n");
    EXPECT_THAT(rest, HasSubstr("store_unavailable"));
    EXPECT_THAT(rest, HasSubstr("\r\n0\r\n\r\n"));
}

// Between the moment at which a run is stored and the one at which it is known to be active.
TEST_F(RunIdentity, AFollowerOfARunThatIsJustBeginningSeesAllOfIt) {
    settings.server.threads = 2;
    answer = say("Good day");
    start();
    raw_client other(port()); // Connections are distributed to the two threads in turn.
    raw_client follower(port());
    for (raw_client* one : {&other, &follower}) {
        one->send(get("/healthz"));
        ASSERT_EQ(one->read_reply().status, 200);
    }
    bool has_begun = false;
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "begin.stored" && !std::exchange(has_begun, true)) {
            follower.send(post(
                "/agui/history",
                R"({"threadId":"t","runId":"h","messages":[],"forwardedProps":{"follow":true}})"
            ));
            // A server that does not wait for the run would answer meanwhile; ours passes anyway.
            std::this_thread::sleep_for(100ms);
        }
    });

    EXPECT_THAT(ask(post("/agui", run_body("t", "r"))).body, HasSubstr("RUN_FINISHED"));

    EXPECT_TRUE(has_begun);
    EXPECT_THAT(follower.read_until("\r\n0\r\n\r\n"), HasSubstr("Good day"));
}

TEST_F(RunIdentity, AStopReachesTheRunThatBeganBeforeTheLastOneWasForgotten) {
    settings.server.threads = 2;
    answer = say_and_stall("so far");
    start();
    raw_client first(port()); // Connections are distributed to the two threads in turn.
    raw_client second(port());
    raw_client other(port());
    raw_client canceller(port());
    for (raw_client* one : {&first, &second, &other, &canceller}) {
        one->send(get("/healthz"));
        ASSERT_EQ(one->read_reply().status, 200);
    }
    bool has_begun = false;
    const failpoint_hook hook([&](std::string_view place) {
        if (place == "run.ending" && !std::exchange(has_begun, true)) {
            second.send(post("/agui", run_body("t", "r2")));
            (void)second.read_until("so far");
        }
    });
    first.send(post("/agui", run_body("t", "r1")));
    (void)first.read_until("so far");
    canceller.send(post("/agui/cancel", R"({"threadId":"t","runId":"r1"})"));
    ASSERT_EQ(canceller.read_reply().body, R"({"cancelled":true})");
    ASSERT_TRUE(has_begun);

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");
    EXPECT_THAT(second.read_until("RUN_FINISHED"), HasSubstr("RUN_FINISHED"));
}

class EndThatThrows : public RunIdentity, public ::testing::WithParamInterface<bool> {};

TEST_P(EndThatThrows, KeepsNobodyWaiting) {
    if (GetParam()) {
        use_sqlite();
    }
    start();
    int thrown = 0;
    const failpoint_hook hook([&thrown](std::string_view place) {
        if (place == "run.ending" && ++thrown == 1) {
            throw std::runtime_error("no memory");
        }
    });

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_EQ(thrown, 1);
    EXPECT_TRUE(reply.complete);
    EXPECT_THAT(reply.body, HasSubstr("RUN_FINISHED"));
    EXPECT_THAT(ask(post("/agui", run_body("t", "r2"))).body, HasSubstr("RUN_FINISHED"));
    server->request_stop();
    EXPECT_TRUE(server->wait_bounded(patience));
}

INSTANTIATE_TEST_SUITE_P(Stores, EndThatThrows, ::testing::Values(false, true), [](const auto& of) {
    return of.param ? "Sqlite" : "Memory";
});

TEST_F(RunIdentity, AStreamThatCannotBeStoredBeginsAsItWould) {
    use_sqlite();
    // Without the queue, it could be stored.
    settings.session.durability = session::durability::power;
    start();
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    std::string body = run_body("t", "r");
    body.insert(1, R"("parentRunId":"parent","protocolVersion":"1.0",)");
    raw_reply reply;
    {
        const failpoint_hook hook([&before](std::string_view place) {
            if (place == "begin.stored") {
                rlimit full = before;
                full.rlim_cur = 1; // From here on every write fails, as on a full disk.
                (void)::setrlimit(RLIMIT_FSIZE, &full);
            }
        });
        reply = ask(post("/agui", body));
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);

    EXPECT_THAT(reply.body, HasSubstr("store_unavailable"));
    EXPECT_THAT(first_event(reply), HasSubstr(R"("parentRunId":"parent","protocolVersion":"1.0")"));
}

#endif

} // namespace
} // namespace agui::test
