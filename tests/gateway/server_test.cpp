// A server as a whole: probes, streams, runs on its threads, its start and its end.

#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <gmock/gmock.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

using ServerTest = server_test;

TEST_F(ServerTest, AnswersProbes) {
    start();

    const raw_reply health = ask(get("/healthz"));
    EXPECT_EQ(health.status, 200);
    EXPECT_EQ(health.body, R"({"status":"ok"})");
    EXPECT_EQ(health.header("content-type"), "application/json");
    EXPECT_EQ(health.header("x-content-type-options"), "nosniff");
    EXPECT_FALSE(health.header("date").empty());
    EXPECT_EQ(ask(get("/readyz")).status, 200);
    EXPECT_NE(ask(get("/version")).body.find("\"name\":\"agui-gateway\""), std::string::npos);
    const raw_reply head = ask("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.header("content-length"), "15");
}

TEST_F(ServerTest, ReadinessTellsAboutModelsOnRequest) {
    settings.models.at(0).circuit.failures = 1;
    answer = {};
    answer.status = 503;
    start();
    EXPECT_EQ(
        ask(get("/readyz?detail")).body,
        R"({"status":"ok","models":{"main":{"circuit":"closed","failures":0}}})"
    );

    (void)ask(post("/agui", run_body("t", "r")));

    const raw_reply ready = ask(get("/readyz?detail"));
    EXPECT_EQ(ready.status, 200) << "a run may still succeed";
    EXPECT_EQ(ready.body, R"({"status":"ok","models":{"main":{"circuit":"open","failures":1}}})");
    EXPECT_EQ(ask(get("/readyz")).body, R"({"status":"ok"})");
}

TEST_F(ServerTest, NamesOfModelsAreNotForEverybody) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    settings.server.allowed_hosts = {"localhost"};
    start();
    const std::string token = "Authorization: Bearer secret\r\n";
    const std::string other_host = "Host: other.example\r\n";

    EXPECT_EQ(ask(get("/readyz?detail")).status, 401);
    EXPECT_EQ(ask(get("/readyz?detail=1")).status, 401);
    EXPECT_EQ(ask(get("/readyz?%64etail")).status, 401);
    EXPECT_EQ(ask(get("/readyz?a=1&detail")).status, 401);
    EXPECT_EQ(ask(get("/readyz?detail", token)).status, 200);
    EXPECT_EQ(ask("GET /readyz HTTP/1.1\r\n" + other_host + "\r\n").status, 200);
    EXPECT_EQ(
        error_code(ask("GET /readyz?detail HTTP/1.1\r\n" + other_host + token + "\r\n")),
        "wrong_host"
    );
}

TEST_F(ServerTest, StreamsARunFromStartedToFinished) {
    start();
    raw_client client(port());

    client.send(post("/agui", run_body("t", "r")));
    const raw_reply reply = client.read_reply();

    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("content-type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(reply.header("cache-control"), "no-cache, no-store, no-transform");
    EXPECT_EQ(reply.header("x-accel-buffering"), "no");
    EXPECT_TRUE(reply.complete);
    EXPECT_EQ(reply.body.find("id: 1\ndata: {\"type\":\"RUN_STARTED\""), 0U) << reply.body;
    EXPECT_NE(reply.body.find("Hello"), std::string::npos);
    EXPECT_NE(reply.body.find("\"RUN_FINISHED\""), std::string::npos);
    EXPECT_TRUE(reply.body.ends_with("}\n\n"));
    EXPECT_EQ(reply.body.find('\r'), std::string::npos);

    client.send(get("/healthz"));
    EXPECT_EQ(client.read_reply().status, 200) << "the connection serves on after a stream";
}

TEST_F(ServerTest, SendsHeadAndRunStartedBeforeTheModelSaysAnything) {
    answer.stall_after_frames = 0;
    start();
    raw_client client(port());

    client.send(post("/agui", run_body("t", "r")));

    EXPECT_EQ(client.read_head().status, 200);
    EXPECT_NE(client.read_until("\n\n").find("RUN_STARTED"), std::string::npos);
}

TEST_F(ServerTest, StreamsToHttp10UntilItCloses) {
    start();
    std::string request = post("/agui", run_body("t", "r"));
    request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");

    const raw_reply reply = ask(request);

    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.header("transfer-encoding"), "");
    EXPECT_EQ(reply.header("connection"), "close");
    EXPECT_EQ(reply.body.find("id: 1\n"), 0U);
    EXPECT_NE(reply.body.find("\"RUN_FINISHED\""), std::string::npos);
}

TEST_F(ServerTest, SendsCommentsWhileNothingHappens) {
    settings.server.heartbeat = std::chrono::milliseconds(20);
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());

    client.send(post("/agui", run_body("t", "r")));

    EXPECT_EQ(client.read_head().status, 200);
    EXPECT_TRUE(client.read_until("e\r\n: keep-alive\n\n\r\n").ends_with(": keep-alive\n\n\r\n"));
    EXPECT_TRUE(client.read_until("e\r\n: keep-alive\n\n\r\n").ends_with(": keep-alive\n\n\r\n"));
}

// A proxy passes the head on with the first byte of the body.
TEST_F(ServerTest, BeginsAStreamThatWaitsWithAComment) {
    settings.server.heartbeat = std::chrono::hours(1);
    answer = say_and_stall("Hello");
    start();
    raw_client run(port());
    run.send(post("/agui", run_body("t", "r")));
    EXPECT_EQ(run.read_until("Hello").find(": keep-alive"), std::string::npos);
    const std::string path = "/agui/threads/t/runs/r/events?after=";
    raw_client first(port());
    first.send(get(path + "0"));
    const std::string shown = first.read_until("Hello");
    const std::size_t id = shown.rfind("id: ") + 4;

    raw_client waiting(port());
    waiting.send(get(path + shown.substr(id, shown.find('\n', id) - id)));

    EXPECT_TRUE(waiting.read_until("\n\n\r\n").ends_with("\r\n\r\ne\r\n: keep-alive\n\n\r\n"));
}

TEST_F(ServerTest, SendsATextOfAnySizeWhole) {
    const std::string text(3'000'000, 'x');
    answer = say(text);
    start();

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_TRUE(reply.complete);
    std::string joined;
    constexpr std::string_view begin = R"("delta":")";
    for (std::size_t at = reply.body.find(begin); at != std::string::npos;
         at = reply.body.find(begin, at)) {
        at += begin.size();
        joined.append(reply.body, at, reply.body.find('"', at) - at);
    }
    EXPECT_TRUE(joined == text) << joined.size();
    EXPECT_NE(reply.body.find("\"RUN_FINISHED\""), std::string::npos);
}

TEST_F(ServerTest, CutsOffAReaderThatTakesNothing) {
    // A busy machine may stop the other reader for a second.
    settings.server.stall = std::chrono::milliseconds(4000);
    const std::string piece = say_and_stall(std::string(4'000'000, 'x')).body;
    for (int i = 0; i < 8; ++i) {
        answer.body.insert(0, piece); // More in all than the kernel's buffers hold.
    }
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    ASSERT_EQ(client.read_head().status, 200);

    // The run does not wait for it: another reader gets everything.
    const raw_reply other = ask(post("/agui", run_body("t", "r")));
    EXPECT_TRUE(other.complete);
    client.wait_for_reset();
    raw_reply stuck;
    stuck.headers["transfer-encoding"] = "chunked";
    client.read_body(stuck);

    EXPECT_FALSE(stuck.complete) << "a clean end would be taken for success";
}

TEST_F(ServerTest, GivesOneOfManyRequestsTheThread) {
    answer = say_and_stall("Hello");
    start();
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 100; ++i) {
        clients.push_back(std::make_unique<raw_client>(port()));
    }

    for (std::size_t i = 0; i < clients.size(); ++i) {
        clients[i]->send(post("/agui", run_body("t", "r" + std::to_string(i))));
    }

    int streams = 0;
    int busy = 0;
    for (const auto& client : clients) {
        raw_reply reply = client->read_head();
        if (reply.status == 200) {
            ++streams;
        } else {
            client->read_body(reply);
            EXPECT_EQ(error_code(reply), "thread_busy");
            EXPECT_NE(reply.body.find("\"activeRunId\":\"r"), std::string::npos);
            EXPECT_EQ(reply.header("retry-after"), "1");
            busy += reply.status == 409 ? 1 : 0;
        }
    }
    EXPECT_EQ(streams, 1);
    EXPECT_EQ(busy, 99);
}

TEST_F(ServerTest, ServesRunsOnSeveralThreads) {
    settings.server.threads = 3;
    start();
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 60; ++i) {
        clients.push_back(std::make_unique<raw_client>(port()));
        const std::string thread_id = "t" + std::to_string(i % 30); // Two requests for each run.
        clients.back()->send(post("/agui", run_body(thread_id, "r")));
    }

    for (const auto& client : clients) {
        const raw_reply reply = client->read_reply();
        EXPECT_EQ(reply.status, 200) << reply.body;
        EXPECT_TRUE(reply.complete);
        EXPECT_NE(reply.body.find("\"RUN_FINISHED\""), std::string::npos);
    }
}

TEST_F(ServerTest, StopsARunOnRequest) {
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    raw_reply stream = client.read_head();
    ASSERT_EQ(stream.status, 200);

    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"other"})")).body,
        R"({"cancelled":false})"
    );
    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"r"})")).body, R"({"cancelled":true})"
    );
    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})");
    client.read_body(stream);

    EXPECT_TRUE(stream.complete);
    EXPECT_NE(stream.body.find("user_stop"), std::string::npos) << stream.body;
}

TEST_F(ServerTest, RefusesToStopNothingInParticular) {
    start();

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":false})");
    EXPECT_EQ(error_code(ask(post("/agui/cancel", "{"))), "invalid_json");
    EXPECT_EQ(error_code(ask(post("/agui/cancel", "{}"))), "invalid_input");
    EXPECT_EQ(error_code(ask(post("/agui/cancel", "[]"))), "invalid_input");
    EXPECT_EQ(
        error_code(ask(post("/agui/cancel", R"({"threadId":"t","runId":7})"))), "invalid_input"
    );
}

TEST_F(ServerTest, EndsARunThatWritesTooMuch) {
    settings.server.max_run_bytes = 65'536;
    answer = say_and_stall(std::string(70'000, 'x'));
    start();

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    EXPECT_TRUE(reply.complete);
    EXPECT_NE(reply.body.find("token_limit"), std::string::npos);
}

TEST_F(ServerTest, LogsOnceThatAnOlderClientGetsLess) {
    memory_logger log;
    options.log = &log;
    start();
    const std::string file =
        R"([{"type":"document","source":{"type":"file","value":"file_1","mimeType":"text/plain"}}])";
    (void)ask(post("/agui", run_body("t", "r")));
    (void)ask(post(
        "/agui", R"({"threadId":"t","runId":"r2","protocolVersion":"1.1","messages":[)"
                 R"({"id":"f","role":"user","content":)" +
                     file + "}]}"
    ));
    const auto show = [this](std::string_view version) {
        const raw_reply shown = ask(post(
            "/agui/history",
            R"({"threadId":"t","runId":"h","messages":[])" + std::string(version) + "}"
        ));
        EXPECT_THAT(shown.body, HasSubstr("MESSAGES_SNAPSHOT"));
    };

    show(R"(,"protocolVersion":"1.1")");
    show(R"(,"protocolVersion":"1.0")");
    EXPECT_THAT(log.lines(), Not(Contains(HasSubstr("parts of an event were left out"))));
    show("");
    show("");

    EXPECT_THAT(
        log.lines(), Contains("warning parts of an event were left out: the client declares no "
                              "AG-UI version from 1.0 on name=MESSAGES_SNAPSHOT thread=t")
                         .Times(1)
    );
    server.reset();
}

TEST_F(ServerTest, LogsWhyTheStoreFails) {
    memory_logger log;
    options.log = &log;
    use_sqlite();
    settings.session.durability = session::durability::power; // Past the queue nothing would fail.
    start();
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit full = before;
    full.rlim_cur = 1; // The next write fails: a full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);

    const raw_reply reply = ask(post("/agui", run_body("t", "r")));

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(error_code(reply), "store_unavailable");
    EXPECT_THAT(
        log.lines(), ::testing::Contains(::testing::HasSubstr("cannot write to the store"))
    );
    server.reset();
}

#ifdef AGUI_FAILPOINTS

TEST_F(ServerTest, LogsOnceWhyOldLogsCouldNotBeDropped) {
    memory_logger log;
    options.log = &log;
    const failpoint_hook failing([](std::string_view place) {
        if (place == "sweep.begin") {
            throw std::runtime_error("no memory");
        }
    });
    start();
    const auto failures = [&log] {
        return std::ranges::count_if(log.lines(), [](const std::string& line) {
            return line.starts_with("error ");
        });
    };
    const auto give_up = std::chrono::steady_clock::now() + patience;
    while (failures() == 0 && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    server.reset();

    EXPECT_EQ(failures(), 1);
    EXPECT_THAT(
        log.lines(),
        ::testing::Contains(::testing::AllOf(
            ::testing::HasSubstr("old logs could not be dropped"), ::testing::HasSubstr("no memory")
        ))
    );
}

#endif

TEST_F(ServerTest, CancelsARunWhoseClientLeftWhereAskedTo) {
    answer = say_and_stall("Hello");
    start();
    const std::string request = post("/agui", run_body("t", "r"), "X-On-Disconnect: cancel\r\n");
    raw_client client(port());
    client.send(request);
    ASSERT_NE(client.read_until("Hello").find("Hello"), std::string::npos);

    client.close();

    // The same request reads the same run: it ends only because its first reader left.
    const raw_reply again = ask(request);
    EXPECT_TRUE(again.complete);
    EXPECT_NE(again.body.find("user_stop"), std::string::npos) << again.body;
}

TEST_F(ServerTest, LetsARunContinueWhenItsClientLeaves) {
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    ASSERT_NE(client.read_until("Hello").find("Hello"), std::string::npos);
    client.close();

    raw_client second(port());
    second.send(post("/agui", run_body("t", "r")));
    ASSERT_NE(second.read_until("Hello").find("RUN_STARTED"), std::string::npos);

    EXPECT_EQ(ask(post("/agui/cancel", R"({"threadId":"t"})")).body, R"({"cancelled":true})")
        << "it was still going";
}

TEST_F(ServerTest, RefusesAnUnknownDisconnectPolicy) {
    start();

    EXPECT_EQ(
        error_code(ask(post("/agui", run_body("t", "r"), "X-On-Disconnect: perhaps\r\n"))),
        "invalid_input"
    );
}

TEST_F(ServerTest, DrainsThenEndsTheRemainingRuns) {
    answer = say_and_stall("Hello");
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r")));
    raw_reply stream = client.read_head();
    ASSERT_EQ(stream.status, 200);

    server->request_stop();
    const raw_reply ready = ask(get("/readyz"));
    const raw_reply refused = ask(post("/agui", run_body("t2", "r2")));
    server->request_stop();
    client.read_body(stream);
    server->wait();

    EXPECT_EQ(ready.status, 503);
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(error_code(refused), "draining");
    EXPECT_FALSE(refused.header("retry-after").empty());
    EXPECT_TRUE(stream.complete);
    EXPECT_NE(stream.body.find("\"code\":\"shutdown\""), std::string::npos) << stream.body;
}

TEST_F(ServerTest, ClosesIdleConnectionsWhenItStops) {
    start();
    raw_client client(port());
    client.send(get("/healthz"));
    ASSERT_EQ(client.read_reply().status, 200);

    server->request_stop();
    server->wait();

    EXPECT_TRUE(client.closed_by_peer());
}

TEST_F(ServerTest, TurnsConnectionsAwayAboveItsLimit) {
    settings.server.max_connections = 1;
    start();
    raw_client first(port());
    first.send(get("/healthz"));
    ASSERT_EQ(first.read_reply().status, 200);

    raw_client second(port());
    second.send(get("/version"));
    const raw_reply reply = second.read_reply();

    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(error_code(reply), "overloaded");
    EXPECT_FALSE(reply.header("retry-after").empty());
    EXPECT_TRUE(second.closed_by_peer());
}

TEST_F(ServerTest, RefusesAnAddressThatIsTaken) {
    start();
    settings.server.listen = "127.0.0.1:" + std::to_string(port());
    gateway::server_options other;
    other.log = &null_logger();
    other.script_of = [](const gateway::model_config&) {
        return runner::script();
    };
    gateway::server second(settings, std::move(other));

    EXPECT_THROW(second.start(), boost::system::system_error);
}

} // namespace
} // namespace agui::test
