#include "tests/runner/http/http_transport_case.hpp"

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST_F(HttpTransport, FollowsARedirectWithMethodBodyAndHeaders) {
    std::vector<std::string> seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        for (const char* const location : {"/v2/chat?key=1#part", "next", ""}) {
            seen.push_back(co_await peer.read_request());
            co_await peer.send(
                *location == 0 ? response("ok")
                               : "HTTP/1.1 307 Temporary Redirect\r\nLocation: " +
                                     std::string(location) + "\r\nContent-Length: 0\r\n\r\n"
            );
        }
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1?key=1");
    endpoint.headers = {{"Authorization", "Bearer secret"}};
    transport_request request = simple_request(R"({"a":1})");
    request.headers = {{"X-Trace", "1"}};

    const client_answer answer = ask_once(*make(endpoint), request);

    EXPECT_EQ(answer.body, "ok");
    ASSERT_EQ(seen.size(), 3U);
    const std::string rest = seen[0].substr(seen[0].find(" HTTP/1.1"));
    EXPECT_EQ(seen[0], "POST /v1/chat?key=1" + rest);
    EXPECT_EQ(seen[1], "POST /v2/chat?key=1" + rest);
    EXPECT_EQ(seen[2], "POST /v2/next" + rest);
    EXPECT_NE(rest.find("Authorization: Bearer secret\r\n"), std::string::npos);
    EXPECT_NE(rest.find("X-Trace: 1\r\n"), std::string::npos);
    EXPECT_TRUE(rest.ends_with("{\"a\":1}"));
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTransport, FollowsFiveRedirectsAndNoMore) {
    int left = 0;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        for (;;) {
            const std::string asked = co_await peer.read_request();
            if (asked.empty()) {
                co_return;
            }
            co_await peer.send(
                left-- == 0 ? response("ok")
                            : "HTTP/1.1 308 Go\r\nLocation: /chat\r\nContent-Length: 0\r\n\r\n"
            );
        }
    });
    const auto transport = make(server);

    left = 5;
    EXPECT_EQ(ask_once(*transport).body, "ok");
    left = 6;
    EXPECT_EQ(ask_once(*transport).failure, kind::redirect);
    EXPECT_EQ(left, 0); // The sixth redirect was the last request.
}

TEST_F(HttpTransport, DoesNotReadTheBodyOfARedirect) {
    const std::string endless = "HTTP/1.1 307 Go\r\nLocation: /there\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n" +
                                chunk("never ending");
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        const std::string asked = co_await peer.read_request();
        const bool first = asked.starts_with("POST /v1/chat ");
        co_await peer.send(first ? endless : response("ok"));
        co_await peer.wait_for_close();
    });

    EXPECT_EQ(ask_once(*make(server)).body, "ok");
    EXPECT_EQ(server.accepted(), 2);
}

TEST_F(HttpTransport, FollowsARedirectOfARequestThatIsStillBeingWritten) {
    const std::string large(32U << 20U, 'x');
    std::string second;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        if (peer.number == 0) {
            co_await peer.send("HTTP/1.1 307 Go\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n");
            co_await peer.wait_for_close();
            co_return;
        }
        second = co_await peer.read_request();
        co_await peer.send(response("ok"));
    });

    EXPECT_EQ(ask_once(*make(server), simple_request(large)).body, "ok");
    EXPECT_TRUE(second.starts_with("POST /there HTTP/1.1\r\n"));
    EXPECT_TRUE(second.ends_with("\r\n\r\n" + large));
}

TEST_F(HttpTransport, SendsNothingToAnotherOriginAndKeepsKeysOutOfTheReason) {
    const std::string key_in_path = "T0123456789abcdef0123";
    http_test_server other(context(), [](server_connection&) -> asio::awaitable<void> {
        ADD_FAILURE() << "it was sent something";
        co_return;
    });
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            "HTTP/1.1 307 Go\r\nLocation: http://user:pass@127.0.0.1:" +
            std::to_string(other.port()) + "/" + key_in_path +
            "/sk-own/sk-run/identity?key=q1w2e3#f\r\nContent-Length: 0\r\n\r\n"
        );
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url("/" + key_in_path);
    endpoint.headers = {{"Authorization", "Bearer sk-own"}};
    transport_request request = simple_request();
    request.headers = {{"X-User", "sk-run"}};

    const auto transport = make(endpoint);
    const auto answered = run(transport->send(request));

    ASSERT_FALSE(answered);
    EXPECT_EQ(answered.error().what, kind::redirect);
    EXPECT_EQ(
        answered.error().detail, "it answered with the redirect 307 whose Location is not a URL "
                                 "for requests, Location: http://127.0.0.1:" +
                                     std::to_string(other.port()) +
                                     "/[secret]/[secret]/[secret]/identity"
    );
}

} // namespace
} // namespace agui::runner
