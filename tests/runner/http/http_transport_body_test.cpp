#include "tests/runner/http/http_transport_case.hpp"
#include "tests/support/patience.hpp"

namespace agui::runner {
namespace {

using namespace http_transport_case;

TEST_F(HttpTransport, CallsACutResponseLost) {
    const std::vector<std::string> cuts = {
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        chunked_header,
        chunked_header + chunk("hello"),
        chunked_header + chunk("hello") + "0\r\n",
        chunked_header + "a\r\nhello",
    };
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(cuts[static_cast<std::size_t>(peer.number)]);
    });
    const auto transport = make(server);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        SCOPED_TRACE(i);
        const client_answer answer = ask_once(*transport);
        EXPECT_EQ(answer.failure, kind::lost);
        EXPECT_EQ(answer.body, cuts[i].find("hello") == std::string::npos ? "" : "hello");
    }
}

TEST_F(HttpTransport, TakesTheCloseForTheEndOfABodyWithoutLength) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("HTTP/1.0 200 OK\r\n\r\nhello");
    });
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport);

    EXPECT_EQ(answer.failure, std::nullopt);
    EXPECT_EQ(answer.body, "hello");
}

TEST_F(HttpTransport, ReadsAnswersOfSmallServers) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            peer.number == 0 ? "HTTP/1.0 200\nContent-Type: application/x-odd\n\nhello"
                             : "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nagain"
        );
        if (peer.number > 0) {
            co_await peer.wait_for_close();
        }
    });
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport);

    EXPECT_EQ(answer.failure, std::nullopt);
    EXPECT_EQ(answer.type, "application/x-odd");
    EXPECT_EQ(answer.body, "hello");
    EXPECT_EQ(ask_once(*transport).body, "again");
    EXPECT_EQ(ask_once(*transport).body, "again");
    EXPECT_EQ(server.accepted(), 3); // A connection with an odd head is not used again.
}

TEST_F(HttpTransport, RefusesBytesThatAreNotHttp) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("220 mail.example.org ESMTP\r\n");
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).failure, kind::protocol);
}

TEST_F(HttpTransport, BoundsHeadersAndChunkLines) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        const std::string filler(200U << 10U, 'x');
        co_await peer.send(
            peer.number == 0 ? "HTTP/1.1 200 OK\r\nX: " + filler : chunked_header + "5;" + filler
        );
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).failure, kind::protocol);
    EXPECT_EQ(ask_once(*transport).failure, kind::protocol);
}

TEST_F(HttpTransport, TakesALargeHeader) {
    const std::string filler(40U << 10U, 'x');
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send("HTTP/1.1 200 OK\r\nX: " + filler + "\r\nContent-Length: 2\r\n\r\nok");
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "ok");
}

TEST_F(HttpTransport, SendsAndReceivesLargeBodies) {
    const std::string large(5U << 20U, 'x');
    std::size_t seen = 0;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        const std::string request = co_await peer.read_request();
        seen = request.size() - request.find("\r\n\r\n") - 4;
        co_await peer.send(chunked_header + chunk(large) + chunk(large) + chunk(""));
    });
    const auto transport = make(server);

    const client_answer answer = ask_once(*transport, simple_request(large));

    EXPECT_EQ(seen, large.size());
    EXPECT_EQ(answer.failure, std::nullopt);
    EXPECT_EQ(answer.body.size(), 2 * large.size());
}

// Sizes around those of the reads: of the header, and of the buffer that plain streams share.
TEST_F(HttpTransport, LosesNothingOfBodiesOfAnySize) {
    std::string body;
    bool chunked = false;
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(
            chunked ? chunked_header + chunk(body) + chunk("")
                    : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body
        );
    });
    const auto transport = make(server);
    for (const std::size_t around : {1024U, 2048U, 4096U, 65'536U, 66'560U, 131'072U, 200'000U}) {
        for (const std::size_t size : {around - 45, around - 2, around - 1, around, around + 1}) {
            SCOPED_TRACE(size);
            body.clear();
            while (body.size() < size) {
                body += std::to_string(body.size()) + " ";
            }
            body.resize(size);
            for (const bool in_chunks : {false, true}) {
                chunked = in_chunks;
                const client_answer answer = ask_once(*transport);
                EXPECT_EQ(answer.failure, std::nullopt);
                EXPECT_TRUE(answer.body == body) << in_chunks << " " << answer.body.size();
            }
        }
    }
}

// A body whose bytes are always available takes turns with the others of its thread.
TEST_F(HttpTransport, AServerThatSendsWithoutAPauseLeavesRoomForOthers) {
    asio::io_context elsewhere{1};
    http_test_server server(elsewhere, [](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header);
        const std::string piece = chunk(std::string(1U << 20U, 'x'));
        for (int i = 0; i < 64; ++i) {
            co_await peer.send(piece);
        }
        co_await peer.send(chunk(""));
    });
    const auto transport = make(server);
    std::thread sending([&elsewhere] { elsewhere.run_for(test::patience); });
    std::size_t at_once = 0;
    std::size_t most_at_once = 0;
    bool over = false;
    std::function<void()> take_turn = [&] {
        at_once = 0;
        if (!over) {
            asio::post(context(), take_turn);
        }
    };
    asio::post(context(), take_turn);
    const auto read = [&](http_client& client) -> asio::awaitable<void> {
        const transport_request request = simple_request("{}");
        auto answered = co_await client.send(request);
        for (bool more = answered.has_value(); more;) {
            const transport_result<std::string_view> bytes = co_await (*answered)->read();
            more = bytes && !bytes->empty();
            at_once += more ? bytes->size() : 0;
            most_at_once = std::max(most_at_once, at_once);
        }
        over = true;
    };
    run(read(*transport));
    elsewhere.stop();
    sending.join();

    EXPECT_GT(most_at_once, 0U);
    EXPECT_LE(most_at_once, 256U << 10U);
}

TEST_F(HttpTransport, ReadsTheLineOfAChunkThatComesInPieces) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        asio::steady_timer pause(co_await asio::this_coro::executor);
        for (const std::string& piece :
             {"5;" + std::string(1500, 'x'), std::string(1500, 'y'), std::string("\r\nhello\r\n")
             }) {
            pause.expires_after(std::chrono::milliseconds(1)
            ); // This makes it likely that the rest is read separately.
            co_await pause.async_wait(asio::use_awaitable);
            co_await peer.send(piece);
        }
        co_await peer.send(chunk(""));
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "ahello");
}

} // namespace
} // namespace agui::runner
