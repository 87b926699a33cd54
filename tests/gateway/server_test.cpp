#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
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

std::string error_code(const raw_reply& reply) {
    boost::system::error_code ec;
    const boost::json::value body = boost::json::parse(reply.body, ec);
    if (ec || !body.is_object() || !body.get_object().contains("error")) {
        return "no error body: " + reply.body;
    }
    return std::string(body.at("error").at("code").as_string());
}

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
    settings.server.stall = std::chrono::milliseconds(1000);
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

TEST_F(ServerTest, RefusesBadInputBeforeAnyStream) {
    start();
    const std::vector<std::tuple<std::string, int, std::string>> cases{
        {"", 400, "invalid_json"},
        {"hello", 400, "invalid_json"},
        {"{\"threadId\":\"t\",", 400, "invalid_json"},
        {"{\"threadId\":\"\xff\"}", 400, "invalid_json"},
        {std::string(500, '['), 400, "invalid_json"},
        {"[]", 422, "invalid_input"},
        {"null", 422, "invalid_input"},
        {"{}", 422, "invalid_input"},
        {R"({"threadId":"t"})", 422, "invalid_input"},
        {R"({"threadId":7,"runId":"r","messages":[]})", 422, "invalid_input"},
        {R"({"threadId":"t","runId":"","messages":[]})", 422, "invalid_input"},
        {R"({"threadId":"t","runId":"r","messages":"hello"})", 422, "invalid_input"},
        {R"({"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":7}]})", 422,
         "invalid_input"},
        {R"({"threadId":"t","runId":"r","messages":[],"tools":{}})", 422, "invalid_input"},
        {R"({"threadId":"t","runId":"r","messages":[],"protocolVersion":"2.0"})", 422,
         "unsupported_protocol_version"},
        {R"({"threadId":"t","runId":"r","messages":[{"id":"m","role":"tool","toolCallId":"none","content":"x"}]})",
         422, "unknown_tool_call"},
    };
    for (const auto& [body, status, code] : cases) {
        SCOPED_TRACE(body);
        const raw_reply reply = ask(post("/agui", body));
        EXPECT_EQ(reply.status, status);
        EXPECT_EQ(error_code(reply), code);
        EXPECT_EQ(reply.header("content-type"), "application/json");
    }
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200) << "nothing was stored";
}

TEST_F(ServerTest, KnowsItsPathsAndMethods) {
    start();

    EXPECT_EQ(error_code(ask(get("/nowhere"))), "not_found");
    EXPECT_EQ(ask(post("/nowhere", "{}")).status, 404);
    EXPECT_EQ(ask(get("/%zz")).status, 404);
    EXPECT_EQ(error_code(ask(post("/agui/agents/nobody", run_body("t", "r")))), "not_found");
    EXPECT_EQ(ask(post("/agui/agents/default", run_body("t", "r"))).status, 200);
    EXPECT_EQ(ask(post("/agui?x=1", run_body("t2", "r"))).status, 200);

    const raw_reply get_run = ask(get("/agui"));
    EXPECT_EQ(get_run.status, 405);
    EXPECT_EQ(error_code(get_run), "method_not_allowed");
    EXPECT_EQ(get_run.header("allow"), "POST, OPTIONS");
    const raw_reply post_health = ask(post("/healthz", "{}"));
    EXPECT_EQ(post_health.status, 405);
    EXPECT_EQ(post_health.header("allow"), "GET, HEAD, OPTIONS");
    EXPECT_EQ(ask("TRACE /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 405);
}

TEST_F(ServerTest, ServesBelowItsBasePathOnly) {
    settings.server.base_path = "/chat";
    start();

    EXPECT_EQ(ask(get("/chat/healthz")).status, 200);
    EXPECT_EQ(ask(get("/healthz")).status, 404);
    EXPECT_EQ(ask(get("/chathealthz")).status, 404);
}

TEST_F(ServerTest, TakesNothingButJson) {
    start();
    const std::string body = run_body("t", "r");
    for (const char* type :
         {"", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n",
          "Content-Type: application/json;charset=latin1\r\n",
          "Content-Type: application/jsonx\r\n",
          "Content-Type: application/json\r\nContent-Type: application/json\r\n",
          "Content-Type: multipart/form-data; boundary=application/json\r\n",
          "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"}) {
        SCOPED_TRACE(type);
        const raw_reply reply =
            ask("POST /agui HTTP/1.1\r\nHost: localhost\r\n" + std::string(type) +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        EXPECT_EQ(reply.status, 415);
        EXPECT_EQ(error_code(reply), "unsupported_media_type");
    }
    EXPECT_EQ(
        ask("POST /agui HTTP/1.1\r\nHost: localhost\r\nContent-Type: Application/JSON; "
            "Charset=UTF-8\r\nContent-Length: " +
            std::to_string(body.size()) + "\r\n\r\n" + body)
            .status,
        200
    );
}

TEST_F(ServerTest, RefusesATypeBeforeItsBodyArrives) {
    start();

    const raw_reply reply = ask("POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                                "Content-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n");

    EXPECT_EQ(reply.status, 415);
    EXPECT_EQ(reply.header("connection"), "close");
}

TEST_F(ServerTest, AnswersWithServerSentEventsWhateverIsAccepted) {
    start();
    int run = 0;
    for (const std::string accept :
         {"application/vnd.ag-ui.event+proto", "application/json", "text/event-stream;q=0",
          "text/html, */*;q=0.1", "application/vnd.ag-ui.event+proto, text/event-stream"}) {
        SCOPED_TRACE(accept);
        const raw_reply reply = ask(
            post("/agui", run_body("t", "r" + std::to_string(++run)), "Accept: " + accept + "\r\n")
        );
        EXPECT_EQ(reply.status, 200);
        EXPECT_EQ(reply.header("content-type"), "text/event-stream; charset=utf-8");
    }
}

TEST_F(ServerTest, ATrailingSlashIsTheSamePath) {
    start();
    EXPECT_EQ(ask(post("/agui/", run_body("t", "r"))).status, 200);
    EXPECT_EQ(ask(get("/agui/threads/t/messages/")).status, 200);
    EXPECT_EQ(ask(get("/agui/threads/")).status, ask(get("/agui/threads")).status);
    EXPECT_EQ(ask(get("/healthz/")).status, 200);
    EXPECT_EQ(ask(get("/agui/")).status, 405);
    EXPECT_EQ(ask(post("/agui//", run_body("t", "r2"))).status, 404);
    EXPECT_EQ(ask(get("/agui/threads//messages")).status, 404);
}

TEST_F(ServerTest, ReadsTextsThatWereCutInTwo) {
    start();
    const std::string body = R"({"threadId":"t","runId":"r","state":{"a":"\ud83d"},"tools":[],)"
                             R"("context":[{"description":"d","value":"cut \ude00"}],)"
                             R"("forwardedProps":{"a":"\udbff"},"messages":)"
                             R"([{"id":"m1","role":"user","content":"cut \ud83d"}]})";
    EXPECT_EQ(ask(post("/agui", body)).status, 200);
    EXPECT_THAT(
        ask(get("/agui/threads/t/messages")).body,
        ::testing::HasSubstr("\"content\":\"cut \xEF\xBF\xBD\"")
    );
    EXPECT_THAT(
        ask(get("/agui/threads/t/state")).body, ::testing::HasSubstr("{\"a\":\"\xEF\xBF\xBD\"}")
    );
    // The same run again: a repeat, not another run.
    EXPECT_EQ(ask(post("/agui", body)).status, 200);
    EXPECT_EQ(
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"\ud83d"})")).body,
        R"({"cancelled":false})"
    );
    EXPECT_EQ(error_code(ask(post("/agui", "{\"threadId\":\"\xFF\"}"))), "invalid_json");
}

TEST_F(ServerTest, LimitsBodies) {
    settings.server.max_body_bytes = 2000;
    start();

    const raw_reply sized = ask("POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                                "Content-Type: application/json\r\nContent-Length: 2001\r\n\r\n");
    EXPECT_EQ(sized.status, 413);
    EXPECT_EQ(error_code(sized), "body_too_large");
    const raw_reply chunked = ask("POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                                  "Content-Type: application/json\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n7d1\r\n");
    EXPECT_EQ(chunked.status, 413);
    // A client that sends all the same still gets to read the answer.
    raw_client stubborn(port());
    stubborn.send("POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n");
    stubborn.send(std::string(1'000'000, 'x'));
    EXPECT_EQ(stubborn.read_reply().status, 413);
    EXPECT_TRUE(stubborn.closed_by_peer());
}

TEST_F(ServerTest, LimitsTheBodiesOfAllRequestsTogether) {
    settings.server.max_memory_bytes = 300'000;
    start();

    for (int i = 0; i < 3; ++i) {
        const raw_reply reply =
            ask(post("/agui", run_body("t", "large", std::string(300'000, 'x'))));
        EXPECT_EQ(reply.status, 503);
        EXPECT_EQ(error_code(reply), "overloaded");
    }
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"))).status, 200) << "it is given back";
}

TEST_F(ServerTest, LimitsHeads) {
    settings.server.max_header_bytes = 1024;
    start();

    const raw_reply endless = ask("GET /healthz HTTP/1.1\r\nX-A: " + std::string(5000, 'a'));
    EXPECT_EQ(endless.status, 431);
    EXPECT_EQ(error_code(endless), "headers_too_large");
    EXPECT_EQ(ask(get("/healthz", "X-A: " + std::string(1200, 'a') + "\r\n")).status, 431);
    EXPECT_EQ(ask(get("/" + std::string(1200, 'a'))).status, 431);
}

TEST_F(ServerTest, GivesUpOnSlowRequests) {
    settings.server.header = std::chrono::milliseconds(30);
    settings.server.body = std::chrono::milliseconds(30);
    start();

    const raw_reply head = ask("GET /healthz HT");
    EXPECT_EQ(head.status, 408);
    EXPECT_EQ(error_code(head), "request_timeout");
    const raw_reply body = ask("POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{");
    EXPECT_EQ(body.status, 408);
    raw_client silent(port());
    EXPECT_TRUE(silent.closed_by_peer());
}

TEST_F(ServerTest, ClosesAfterBadFramingWithoutServingTheNextRequest) {
    start();
    const std::vector<std::string> heads{
        "POST /agui HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: "
        "4\r\n\r\n",
        "POST /agui HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "POST /agui HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 4\r\n\r\n",
        "POST /agui HTTP/1.1\r\nHost: localhost\r\nContent-Length: 00\r\n\r\n",
        "GET http://other/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: other\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
        "GET /healthz HTTP/1.1\nHost: localhost\n\n",
    };
    for (const std::string& head : heads) {
        SCOPED_TRACE(head);
        raw_client client(port());
        client.send(head + get("/healthz"));
        const raw_reply reply = client.read_reply();
        EXPECT_EQ(reply.status, 400);
        EXPECT_EQ(error_code(reply), "bad_framing");
        EXPECT_EQ(reply.header("connection"), "close");
        EXPECT_TRUE(client.closed_by_peer());
    }
}

TEST_F(ServerTest, RefusesAMalformedChunkedBody) {
    start();

    const raw_reply reply = ask("POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                                "Content-Type: application/json\r\n"
                                "Transfer-Encoding: chunked\r\n\r\nzz\r\n");

    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(error_code(reply), "bad_framing");
}

TEST_F(ServerTest, TakesChunkedBodiesAndIgnoresTheirTrailers) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    start();
    const std::string body = run_body("t", "r");
    std::string chunks;
    for (std::size_t at = 0; at < body.size(); at += 10) {
        const std::string piece = body.substr(at, 10);
        chunks +=
            (piece.size() == 10 ? "a" : std::to_string(piece.size())) + "\r\n" + piece + "\r\n";
    }
    const std::string head = "POST /agui HTTP/1.1\r\nHost: localhost\r\n"
                             "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";

    EXPECT_EQ(
        ask(head + "\r\n" + chunks + "0\r\nAuthorization: Bearer secret\r\n\r\n").status, 401
    );
    EXPECT_EQ(
        ask(head + "Authorization: Bearer secret\r\n\r\n" + chunks + "0\r\nX: y\r\n\r\n").status,
        200
    );
}

TEST_F(ServerTest, ReadsRequestsThatArriveByteByByte) {
    start();
    raw_client client(port());

    for (const char byte : post("/agui", run_body("t", "r"))) {
        ASSERT_TRUE(client.send(std::string_view(&byte, 1)));
    }

    EXPECT_EQ(client.read_reply().status, 200);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
    start();
    raw_client client(port());

    client.send(
        get("/healthz") + "\r\n" + get("/nowhere") + post("/agui", run_body("t", "r")) +
        get("/readyz")
    );

    EXPECT_EQ(client.read_reply().status, 200);
    EXPECT_EQ(client.read_reply().status, 404);
    const raw_reply stream = client.read_reply();
    EXPECT_EQ(stream.header("content-type"), "text/event-stream; charset=utf-8");
    EXPECT_TRUE(stream.complete);
    EXPECT_EQ(client.read_reply().status, 200);
}

TEST_F(ServerTest, ClosesWhenAskedTo) {
    start();
    raw_client client(port());

    client.send(get("/healthz", "Connection: close\r\n"));

    EXPECT_EQ(client.read_reply().header("connection"), "close");
    EXPECT_TRUE(client.closed_by_peer());
    raw_client old(port());
    old.send("GET /healthz HTTP/1.0\r\n\r\n");
    EXPECT_EQ(old.read_reply().header("connection"), "close");
    EXPECT_TRUE(old.closed_by_peer());
    EXPECT_EQ(ask("GET /version HTTP/1.0\r\n\r\n").status, 421)
        << "no Host, no host that is served";
}

TEST_F(ServerTest, AsksForABodyThatWaitsToBeAskedFor) {
    start();
    raw_client client(port());
    const std::string body = run_body("t", "r");
    const std::string request = post("/agui", body, "Expect: 100-continue\r\n");

    client.send(request.substr(0, request.size() - body.size()));
    const raw_reply interim = client.read_reply();
    client.send(body);

    EXPECT_EQ(interim.status, 100);
    EXPECT_EQ(client.read_reply().status, 200);
}

TEST_F(ServerTest, DoesNotAskForABodyThatItWillNotTake) {
    start();

    const raw_reply reply =
        ask("POST /agui HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");

    EXPECT_EQ(reply.status, 415);
}

TEST_F(ServerTest, ServesTheHostsThatItKnows) {
    start();

    for (const char* host : {"localhost", "127.0.0.1:1", "[::1]:8080", "LOCALHOST:80"}) {
        SCOPED_TRACE(host);
        EXPECT_EQ(
            ask("GET /version HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n").status, 200
        );
    }
    const raw_reply rebound = ask("GET /version HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    EXPECT_EQ(rebound.status, 421);
    EXPECT_EQ(error_code(rebound), "wrong_host");
    EXPECT_NE(rebound.body.find("server.allowed_hosts"), std::string::npos);
    EXPECT_EQ(ask("GET /healthz HTTP/1.1\r\nHost: 10.0.0.7:8080\r\n\r\n").status, 200)
        << "probes use addresses";
}

TEST_F(ServerTest, LetsPagesOfListedOriginsReadAnswersAndErrors) {
    settings.server.cors_origins = {"https://app.example"};
    start();
    const std::string origin = "Origin: https://app.example\r\n";

    const raw_reply preflight =
        ask("OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\n" + origin +
            "Access-Control-Request-Method: POST\r\n"
            "Access-Control-Request-Headers: content-type,authorization\r\n\r\n");
    EXPECT_EQ(preflight.status, 204);
    EXPECT_EQ(preflight.header("access-control-allow-origin"), "https://app.example");
    EXPECT_EQ(preflight.header("access-control-allow-methods"), "POST, OPTIONS");
    EXPECT_EQ(preflight.header("access-control-allow-headers"), "content-type,authorization");
    EXPECT_EQ(preflight.header("vary"), "Origin");
    for (const std::string& request :
         {post("/agui", run_body("t", "r"), origin), post("/agui", "x", origin),
          get("/nowhere", origin), get("/agui", origin)}) {
        EXPECT_EQ(ask(request).header("access-control-allow-origin"), "https://app.example")
            << request;
    }
}

TEST_F(ServerTest, TellsPagesOfOtherOriginsNothing) {
    settings.server.cors_origins = {"https://app.example"};
    start();

    const raw_reply preflight = ask("OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\n"
                                    "Origin: https://evil.example\r\n"
                                    "Access-Control-Request-Method: POST\r\n\r\n");
    EXPECT_EQ(preflight.status, 403);
    EXPECT_EQ(preflight.header("access-control-allow-origin"), "");
    const raw_reply simple = ask(get("/version", "Origin: https://app.example.evil\r\n"));
    EXPECT_EQ(simple.header("access-control-allow-origin"), "");
    EXPECT_EQ(
        ask("OPTIONS /agui HTTP/1.1\r\nHost: localhost\r\n\r\n").header("allow"), "POST, OPTIONS"
    );
}

TEST_F(ServerTest, DemandsTheBearerToken) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "secret";
    start();
    const std::string body = run_body("t", "r");

    for (const char* header :
         {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer secre\r\n",
          "Authorization: Bearer secrets\r\n", "Authorization: Basic secret\r\n",
          "Authorization: secret\r\n", "Authorization: Bearer\r\n",
          "Authorization: Bearer x\r\nAuthorization: Bearer secret\r\n"}) {
        SCOPED_TRACE(header);
        const raw_reply reply = ask(post("/agui", body, header));
        EXPECT_EQ(reply.status, 401);
        EXPECT_EQ(error_code(reply), "unauthorized");
        EXPECT_EQ(reply.header("www-authenticate"), "Bearer");
    }
    EXPECT_EQ(ask(post("/agui", body, "Authorization: Bearer secret\r\n")).status, 200);
    EXPECT_EQ(ask(get("/version")).status, 401);
    EXPECT_EQ(ask(get("/healthz")).status, 200);
    EXPECT_EQ(ask(get("/readyz")).status, 200);
}

TEST_F(ServerTest, SlowsAndLogsWrongTokens) {
    memory_logger log;
    options.log = &log;
    settings.server.trusted_proxies = {"127.0.0.1"};
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "a-token-of-sufficient-length";
    start();
    const std::string from = "X-Forwarded-For: 203.0.113.9\r\n";
    const auto begun = std::chrono::steady_clock::now();

    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(ask(get("/version", from + "Authorization: Bearer guess\r\n")).status, 401);
    }

    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(100 + 200));
    EXPECT_THAT(
        log.lines(),
        Contains("warning requests with a wrong bearer token were refused address=203.0.113.9 "
                 "count=1")
    );
    EXPECT_EQ(ask(get("/version", from)).status, 401) << "without a token, nothing was guessed";
    EXPECT_EQ(
        ask(get("/version", from + "Authorization: Bearer a-token-of-sufficient-length\r\n"))
            .status,
        200
    );
    server.reset();
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

TEST_F(ServerTest, ServesTheBuiltInPage) {
    options.demo_page = true;
    start();

    const raw_reply page = ask(get("/"));
    EXPECT_EQ(page.status, 200);
    EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
    EXPECT_NE(page.header("content-security-policy").find("default-src 'self'"), std::string::npos);
    EXPECT_EQ(page.header("x-frame-options"), "DENY");
    EXPECT_NE(page.body.find("<html"), std::string::npos);
    EXPECT_EQ(ask(get("/app.js")).header("content-type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(ask(get("/nothing.js")).status, 404);
    EXPECT_EQ(ask(post("/nothing", "{}")).status, 404);
    EXPECT_EQ(ask(get("/agui")).status, 405);
}

TEST_F(ServerTest, ServesNothingOutsideItsFolder) {
    namespace fs = std::filesystem;
    const fs::path& folder = this->folder().path();
    fs::create_directory(folder / "web");
    std::ofstream(folder / "secret.txt") << "secret";
    std::ofstream(folder / "web" / "index.html") << "<p>index</p>";
    std::ofstream(folder / "web" / ".hidden") << "secret";
    fs::create_symlink("../secret.txt", folder / "web" / "link.txt");
    settings.server.static_dir = (folder / "web").string();
    start();

    EXPECT_EQ(ask(get("/")).body, "<p>index</p>");
    for (const char* path :
         {"/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/link.txt", "/.hidden",
          "/x/../index.html", "//index.html", "/web", "/%5c..%5csecret.txt"}) {
        SCOPED_TRACE(path);
        EXPECT_EQ(ask(get(path)).status, 404);
    }
}

} // namespace
} // namespace agui::test
