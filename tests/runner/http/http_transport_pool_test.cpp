#include "tests/runner/http/http_transport_case.hpp"

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST_F(HttpTransport, ReusesAConnectionAfterTheEndOfABody) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("first") + chunk(""));
        co_await peer.read_request();
        co_await peer.send(response("second"));
        co_await peer.read_request();
        co_await peer.send("HTTP/1.1 204 No Content\r\n\r\n");
        co_await peer.read_request();
        co_await peer.send(response("fourth"));
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "first");
    EXPECT_EQ(ask_once(*transport).body, "second");
    EXPECT_EQ(ask_once(*transport).status, 204);
    EXPECT_EQ(ask_once(*transport).body, "fourth");
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTransport, DoesNotReuseAConnectionThatTheServerWillClose) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n" +
            std::to_string(peer.number)
        );
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "0");
    EXPECT_EQ(ask_once(*transport).body, "1");
}

TEST_F(HttpTransport, DoesNotReuseAConnectionWithBytesLeftOver) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response("a") + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "a");
    EXPECT_EQ(ask_once(*transport).body, "a");
    EXPECT_EQ(server.accepted(), 2);
}

TEST_F(HttpTransport, ClosesTheConnectionOfAnAnswerThatIsNotReadToItsEnd) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("never ending"));
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    const auto read_one = [](http_client& client) -> asio::awaitable<void> {
        const transport_request request = simple_request();
        const auto posted = co_await client.send(request);
        co_await posted.value()->read();
    };

    run(read_one(*transport));
    run(closed.wait());
}

TEST_F(HttpTransport, ReplacesAPooledConnectionThatTheServerClosedMeanwhile) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response(std::to_string(peer.number)));
        peer.socket.close();
        closed.set();
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "0");
    run(closed.wait());
    EXPECT_EQ(ask_once(*transport).body, "1");
}

TEST_F(HttpTransport, ReplacesAPooledConnectionThatIsClosedUnderTheRequest) {
    std::vector<std::string> bodies;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        for (int turn = 0; turn < 2; ++turn) {
            bodies.push_back(co_await peer.read_request());
            if (peer.number == 0 && turn == 1) {
                co_return;
            }
            co_await peer.send(response(std::to_string(peer.number)));
        }
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "0");
    EXPECT_EQ(ask_once(*transport).body, "1");
    ASSERT_EQ(bodies.size(), 3U);
    EXPECT_EQ(bodies[1], bodies[2]);
}

TEST_F(HttpTransport, ReplacesAPooledConnectionOnlyBeforeTheFirstByte) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response("0"));
        co_await peer.read_request();
        co_await peer.send("H");
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "0");
    EXPECT_EQ(ask_once(*transport).failure, kind::lost);
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTransport, NeverRepeatsARequestOnAFreshConnection) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).failure, kind::lost);
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTransport, UsesAConnectionForEachRequestWhereAsked) {
    std::vector<std::string> requests;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        requests.push_back(co_await peer.read_request());
        co_await peer.send(response(std::to_string(peer.number)));
        co_await peer.wait_for_close();
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.reuse_connections = false;
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).body, "0");
    EXPECT_EQ(ask_once(*transport).body, "1");
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_NE(requests[0].find("Connection: close\r\n"), std::string::npos);
}

TEST_F(HttpTransport, ServesSeveralThreadsAtOnce) {
    asio::io_context server_context(1);
    http_test_server server(server_context, [](server_connection& peer) -> asio::awaitable<void> {
        for (;;) {
            const std::string request = co_await peer.read_request();
            if (request.empty()) {
                co_return;
            }
            co_await peer.send(chunked_header + chunk("a") + chunk("b"));
            co_await peer.send(chunk("c") + chunk(""));
        }
    });
    const auto transport = make(server);
    std::thread server_thread([&] { server_context.run(); });
    const auto client = [](http_client& shared, int& good) -> asio::awaitable<void> {
        for (int i = 0; i < 20; ++i) {
            const client_answer answer = co_await ask(shared, simple_request());
            good += answer.body == "abc" && !answer.failure ? 1 : 0;
        }
    };
    const auto work = [&](int& good) {
        asio::io_context own(1);
        for (int i = 0; i < 4; ++i) {
            asio::co_spawn(own, client(*transport, good), asio::detached);
        }
        own.run();
    };
    int first = 0;
    int second = 0;

    std::thread one([&] { work(first); });
    std::thread two([&] { work(second); });
    one.join();
    two.join();
    asio::post(server_context, [&] { server.close(); });
    server_thread.join();

    EXPECT_EQ(first, 80);
    EXPECT_EQ(second, 80);
    EXPECT_LE(server.accepted(), 8);
}

} // namespace
} // namespace agui::runner
