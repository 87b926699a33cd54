// Requests of every kind, byte by byte: which are read, and which are refused.

#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using ServerTest = server_test;

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

TEST_F(ServerTest, AnswersWithServerSentEventsWhateverElseIsAccepted) {
    start();
    int run = 0;
    for (const std::string accept :
         {"application/vnd.ag-ui.event+proto;q=0", "application/json", "text/event-stream;q=0",
          "text/html, */*;q=0.1", "application/*"}) {
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

} // namespace
} // namespace agui::test
