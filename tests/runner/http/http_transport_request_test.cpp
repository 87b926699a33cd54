#include "tests/runner/http/http_transport_case.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST_F(HttpTransport, SendsOneWellFormedRequest) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("ok"));
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1/");
    endpoint.headers = {{"Authorization", "Bearer secret"}, {"accept", "everything"}};
    const auto transport = make(endpoint);
    transport_request request = simple_request(R"({"a":1})");
    request.headers = {{"Accept", "text/event-stream"}, {"X-Trace", "1"}};

    const client_answer answer = ask_once(*transport, request);

    EXPECT_EQ(answer.failure, std::nullopt);
    EXPECT_EQ(answer.body, "ok");
    EXPECT_EQ(
        seen, "POST /v1/chat HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) +
                  "\r\nAuthorization: Bearer secret\r\n"
                  "accept: everything\r\nUser-Agent: agui-gateway\r\nAccept-Encoding: identity\r\n"
                  "X-Trace: 1\r\nContent-Type: application/json\r\n"
                  "Content-Length: 7\r\n\r\n{\"a\":1}"
    );
}

TEST_F(HttpTransport, SendsAnyMethodAndABodyOnlyWhereThereIsOne) {
    std::vector<std::string> seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen.push_back(co_await peer.read_request());
        co_await peer.send(response("ok"));
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1/");
    endpoint.reuse_connections = false;
    const auto transport = make(endpoint);
    transport_request request = simple_request("{}");
    for (const auto method : {http_method::post, http_method::put, http_method::patch}) {
        request.method = method;
        EXPECT_EQ(ask_once(*transport, request).body, "ok");
    }
    request.body.clear();
    for (const auto method : {http_method::get, http_method::delete_}) {
        request.method = method;
        EXPECT_EQ(ask_once(*transport, request).body, "ok");
    }

    ASSERT_EQ(seen.size(), 5U);
    const std::vector<std::string> methods = {"POST", "PUT", "PATCH", "GET", "DELETE"};
    for (std::size_t i = 0; i < seen.size(); ++i) {
        EXPECT_TRUE(seen[i].starts_with(methods[i] + " /v1/chat HTTP/1.1\r\n")) << seen[i];
        for (const char* field : {"Content-Type: application/json\r\n", "Content-Length: 2\r\n"}) {
            EXPECT_EQ(seen[i].find(field) != std::string::npos, i < 3) << seen[i];
        }
    }
}

TEST_F(HttpTransport, StreamsAChunkedBodyAsItComes) {
    event got_first(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("one"));
        co_await got_first.wait();
        co_await peer.send(chunk("two") + chunk("three") + "0\r\nX-Trailer: 1\r\n\r\n");
    });
    const auto transport = make(server);
    const auto read = [](http_client& client, event& first) -> asio::awaitable<std::string> {
        const transport_request request = simple_request();
        const auto posted = co_await client.send(request);
        std::string log(posted.value()->header("content-type"));
        for (;;) {
            const auto bytes = co_await posted.value()->read();
            log += "|" + std::string(bytes.value());
            if (bytes->empty()) {
                co_return log;
            }
            first.set();
        }
    };

    const std::string log = run(read(*transport, got_first));

    EXPECT_EQ(log, "text/event-stream|one|twothree|");
}

TEST_F(HttpTransport, TakesStatusAndHeadersOfAnError) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many\r\nContent-Type: x/y\r\n"
            "Content-Length: 4\r\n\r\nslow"
        );
    });
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport);

    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.type, "x/y");
    EXPECT_EQ(answer.body, "slow");
}

TEST_F(HttpTransport, KeepsAConnectionNoLongerThanTheServerSays) {
    const auto asked_twice = [this](const std::string& field) {
        http_test_server server(
            context(),
            [field](server_connection& peer) -> asio::awaitable<void> {
                for (;;) {
                    const std::string request = co_await peer.read_request();
                    if (request.empty()) {
                        co_return;
                    }
                    co_await peer.send(
                        "HTTP/1.1 200 OK\r\n" + field + "Content-Length: 2\r\n\r\nok"
                    );
                }
            }
        );
        const auto transport = make(server);
        EXPECT_EQ(ask_once(*transport).body, "ok");
        EXPECT_EQ(ask_once(*transport).body, "ok");
        return server.accepted();
    };

    EXPECT_EQ(asked_twice(""), 1);
    EXPECT_EQ(asked_twice("Keep-Alive: max=100, timeout=5\r\n"), 1);
    // The connection may be closed before the next request.
    EXPECT_EQ(asked_twice("Keep-Alive: timeout=1\r\n"), 2);
    EXPECT_EQ(asked_twice("Keep-Alive: timeout=0\r\n"), 2);
    EXPECT_EQ(asked_twice("Keep-Alive: timeout=soon\r\n"), 1);
}

TEST_F(HttpTransport, FreesTheHeadersThatNobodyWants) {
    http_test_server server(context(), [](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("HTTP/1.1 200 OK\r\nX-Request-Id: r\r\nX-Other: o\r\n"
                           "Keep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok");
    });
    const auto transport = make(server);
    const auto ask = [&]() -> asio::awaitable<std::vector<std::string>> {
        const transport_request request = simple_request();
        const auto response = (co_await transport->send(request)).value();
        std::vector<std::string> seen{std::string(response->header("x-other"))};
        constexpr std::array<std::string_view, 2> names{"x-request-id", "x-none"};
        response->keep_headers(names);
        for (const std::string_view name : {"x-request-id", "x-other", "content-length"}) {
            seen.emplace_back(response->header(name));
        }
        seen.emplace_back((co_await response->read()).value());
        seen.emplace_back((co_await response->read()).value());
        co_return seen;
    };

    EXPECT_EQ(run(ask()), (std::vector<std::string>{"o", "r", "", "", "ok", ""}));
    // How long the server keeps the connection is not forgotten.
    EXPECT_EQ(ask_once(*transport).body, "ok");
    EXPECT_EQ(server.accepted(), 2);
}

TEST_F(HttpTransport, SendsTheQueryOfTheBaseUrl) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("ok"));
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url("/deployments/d/?api-version=2024-10-21");
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).body, "ok");

    EXPECT_EQ(seen.find("POST /deployments/d/chat?api-version=2024-10-21 HTTP/1.1\r\n"), 0U)
        << seen;
}

TEST_F(HttpTransport, SendsTheFirstOfTwoHeadersOfOneName) {
    std::string seen;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        seen = co_await peer.read_request();
        co_await peer.send(response("ok"));
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.headers = {{"Authorization", "mine"}, {"AUTHORIZATION", "Bearer key"}};
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).body, "ok");

    EXPECT_NE(seen.find("Authorization: mine\r\n"), std::string::npos);
    EXPECT_EQ(seen.find("Bearer key"), std::string::npos);
}

TEST_F(HttpTransport, RefusesRequestsThatWouldBreakTheFraming) {
    http_test_server server(context(), [](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    transport_request split_target = simple_request();
    split_target.target = "/x HTTP/1.1\r\nX: y";
    transport_request split_value = simple_request();
    split_value.headers = {{"X", "a\r\nY: b"}};
    transport_request framing = simple_request();
    framing.headers = {{"content-length", "0"}};

    EXPECT_EQ(ask_once(*transport, split_target).failure, kind::protocol);
    EXPECT_EQ(ask_once(*transport, split_value).failure, kind::protocol);
    EXPECT_EQ(ask_once(*transport, framing).failure, kind::protocol);
    EXPECT_EQ(server.accepted(), 0);
}

} // namespace
} // namespace agui::runner
