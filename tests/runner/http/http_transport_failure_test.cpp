#include "tests/runner/http/http_transport_case.hpp"

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST_F(HttpTransport, ReportsARefusedConnection) {
    unsigned short port = 0;
    {
        tcp::acceptor nobody(context(), {asio::ip::make_address("127.0.0.1"), 0});
        port = nobody.local_endpoint().port();
    }
    http_endpoint endpoint;
    endpoint.base_url = "http://127.0.0.1:" + std::to_string(port);
    const auto transport = make(endpoint);

    const client_answer answer = ask_once(*transport);
    EXPECT_EQ(answer.failure, kind::connect);
    EXPECT_TRUE(answer.unsent);
}

TEST_F(HttpTransport, ReportsANameThatDoesNotExist) {
    http_endpoint endpoint;
    endpoint.base_url = "http://no-such-host.invalid:1";
    const auto transport = make(endpoint);

    const client_answer answer = ask_once(*transport);

    // If there is no resolver, the look-up may take longer than the limit.
    EXPECT_TRUE(answer.failure == kind::connect || answer.failure == kind::timeout);
}

TEST_F(HttpTransport, FindsLocalhostByName) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response("ok"));
    });
    http_endpoint endpoint;
    endpoint.base_url = "http://localhost:" + std::to_string(server.port());
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).body, "ok");
}

TEST_F(HttpTransport, GivesUpConnectingInTime) {
    full_listener listener(context());
    http_endpoint endpoint;
    endpoint.base_url = listener.url();
    endpoint.connect_timeout = milliseconds(20);
    const auto transport = make(endpoint);

    const client_answer answer = ask_once(*transport);
    EXPECT_EQ(answer.failure, kind::timeout);
    EXPECT_TRUE(answer.unsent);
}

TEST_F(HttpTransport, GivesUpWaitingForTheFirstByte) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.wait_for_close();
        closed.set();
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.first_byte_timeout = milliseconds(20);
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).failure, kind::timeout);
    run(closed.wait());
    EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpTransport, AfterTheHeaderTheIdleTimeCounts) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header);
        co_await peer.wait_for_close();
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.idle_timeout = milliseconds(20);
    const auto transport = make(endpoint);

    const client_answer answer = ask_once(*transport);

    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.failure, kind::timeout);
}

TEST_F(HttpTransport, GivesUpWaitingForTheNextByte) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        co_await peer.wait_for_close();
        closed.set();
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.idle_timeout = milliseconds(20);
    const auto transport = make(endpoint);

    const client_answer answer = ask_once(*transport);

    EXPECT_EQ(answer.failure, kind::timeout);
    EXPECT_EQ(answer.body, "a");
    run(closed.wait());
}

TEST_F(HttpTransport, DoesNotCountTheTimeInWhichNobodyReads) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a") + chunk("b"));
        co_await peer.send(chunk(""));
        co_await peer.wait_for_close();
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.idle_timeout = milliseconds(5);
    const auto transport = make(endpoint);
    const auto slow_reader = [](http_client& client) -> asio::awaitable<std::string> {
        const transport_request request = simple_request();
        const auto posted = co_await client.send(request);
        std::string text;
        for (;;) {
            const auto bytes = co_await posted.value()->read();
            if (!bytes || bytes->empty()) {
                co_return text + (bytes ? "" : " failed");
            }
            text.append(*bytes);
            asio::steady_timer busy(co_await asio::this_coro::executor, milliseconds(20));
            co_await busy.async_wait(asio::use_awaitable);
        }
    };

    EXPECT_EQ(run(slow_reader(*transport)), "ab");
}

/// The server answers before it has read the whole request, and reads no more until `go_on`.
TEST_F(HttpTransport, TakesARefusalThatComesWhileTheRequestIsWritten) {
    event go_on(context());
    http_test_server server(
        context(), answering_early(response("too long", "413 Content Too Large"), go_on)
    );
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport, simple_request(std::string(32U << 20U, 'x')));
    const client_answer again = ask_once(*transport, simple_request(std::string(32U << 20U, 'x')));

    EXPECT_EQ(answer.failure, std::nullopt);
    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.body, "too long");
    EXPECT_EQ(again.status, 413);
    EXPECT_EQ(server.accepted(), 2); // The first connection still expects the rest of a request.
    go_on.set();
}

TEST_F(HttpTransport, WritesOnWhereTheAnswerBeginsEarly) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.send("HTTP/1.1 100 Continue\r\n\r\n" + chunked_header + chunk("early "));
        const std::string request = co_await peer.read_request();
        co_await peer.send(chunk(std::to_string(request.size() > (32U << 20U))) + chunk(""));
    });
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport, simple_request(std::string(32U << 20U, 'x')));

    EXPECT_EQ(answer.failure, std::nullopt);
    EXPECT_EQ(answer.body, "early 1");
}

TEST_F(HttpTransport, GivesUpWritingToAServerThatTakesNothing) {
    event never(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await never.wait();
        peer.socket.close();
    });
    http_endpoint endpoint;
    endpoint.base_url = server.url();
    endpoint.first_byte_timeout = milliseconds(20);
    const auto transport = make(endpoint);

    EXPECT_EQ(
        ask_once(*transport, simple_request(std::string(32U << 20U, 'x'))).failure, kind::timeout
    );
    never.set();
}

TEST_F(HttpTransport, TakesTheAnswerOfAServerThatClosesWhileTheRequestIsWritten) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        char piece[64];
        co_await peer.socket.async_read_some(asio::buffer(piece), asio::use_awaitable);
        co_await peer.send(
            "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig"
        );
        peer.socket.shutdown(tcp::socket::shutdown_send);
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport, simple_request(std::string(32U << 20U, 'x')));

    EXPECT_EQ(answer.status, 413);
    EXPECT_EQ(answer.body, "big");
}

TEST_F(HttpTransport, CancellationWhileTheRequestIsWrittenClosesTheConnection) {
    event connected(context());
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        connected.set();
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    asio::co_spawn(
        context(), ask(*transport, simple_request(std::string(32U << 20U, 'x'))),
        asio::bind_cancellation_slot(
            stop.slot(),
            [this](std::exception_ptr error, client_answer answer) {
                EXPECT_FALSE(error);
                cancelled_answer = std::move(answer);
                ended.set();
            }
        )
    );
    run(connected.wait());
    stop.emit(asio::cancellation_type::terminal);
    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

} // namespace
} // namespace agui::runner
