#include "runner/http/http_transport.hpp"

#include "tests/runner/http/http_test_server.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using test::chunk;
using test::chunked_header;
using test::event;
using test::http_test_server;
using test::response;
using test::server_connection;

using kind = transport_failure::kind;

/// What a client made of one request.
struct client_answer {
    std::optional<kind> failure;
    int status = 0;
    std::string body;
    std::string type;
};

asio::awaitable<client_answer> ask(http_client& transport, transport_request request) {
    client_answer answer;
    auto posted = co_await transport.send(request);
    if (!posted) {
        answer.failure = posted.error().what;
        co_return answer;
    }
    const std::unique_ptr<transport_response> response = std::move(*posted);
    answer.status = response->status();
    answer.type = response->header("content-type");
    for (;;) {
        const auto bytes = co_await response->read();
        if (!bytes) {
            answer.failure = bytes.error().what;
            co_return answer;
        }
        if (bytes->empty()) {
            co_return answer;
        }
        answer.body.append(*bytes);
    }
}

transport_request simple_request(std::string body = "{}") {
    transport_request request;
    request.target = "/chat";
    request.body = std::move(body);
    return request;
}

std::shared_ptr<http_client> make(http_endpoint endpoint) {
    return make_http_client(std::move(endpoint)).value();
}

std::shared_ptr<http_client> make(const http_test_server& server) {
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    return make(std::move(endpoint));
}

class HttpTransport : public test::coroutine_test {
protected:
    client_answer ask_once(http_client& transport, transport_request request = simple_request()) {
        return run(ask(transport, std::move(request)));
    }

    /// Starts a request that `stop` cancels; the answer is there when `ended` is set.
    void start(http_client& transport) {
        asio::co_spawn(
            context(), ask(transport, simple_request()),
            asio::bind_cancellation_slot(
                stop.slot(),
                [this](std::exception_ptr error, client_answer answer) {
                    EXPECT_FALSE(error);
                    cancelled_answer = std::move(answer);
                    ended.set();
                }
            )
        );
    }

    asio::cancellation_signal stop;
    client_answer cancelled_answer;
    event ended{context()};
};

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

TEST_F(HttpTransport, DoesNotReuseWhatTheServerWillClose) {
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
        answered.error().detail,
        "it answered with the redirect 307 whose Location is no URL to send a request to, "
        "Location: http://127.0.0.1:" +
            std::to_string(other.port()) + "/[secret]/[secret]/[secret]/identity"
    );
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

TEST_F(HttpTransport, ReadsWhatSmallServersSend) {
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

TEST_F(HttpTransport, RefusesWhatIsNotHttp) {
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

// Around what one read takes: a waiting stream's buffer, and the one for bursts.
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

// One whose bytes are always there already takes its turn with the others of its thread.
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
    std::thread sending([&elsewhere] { elsewhere.run_for(std::chrono::seconds(20)); });
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
            ); // So that it is usually read separately.
            co_await pause.async_wait(asio::use_awaitable);
            co_await peer.send(piece);
        }
        co_await peer.send(chunk(""));
    });
    const auto transport = make(server);

    EXPECT_EQ(ask_once(*transport).body, "ahello");
}

TEST_F(HttpTransport, ReportsARefusedConnection) {
    unsigned short port = 0;
    {
        tcp::acceptor nobody(context(), {asio::ip::make_address("127.0.0.1"), 0});
        port = nobody.local_endpoint().port();
    }
    http_endpoint endpoint;
    endpoint.base_url = "http://127.0.0.1:" + std::to_string(port);
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).failure, kind::connect);
}

TEST_F(HttpTransport, ReportsANameThatDoesNotExist) {
    http_endpoint endpoint;
    endpoint.base_url = "http://no-such-host.invalid:1";
    const auto transport = make(endpoint);

    const client_answer answer = ask_once(*transport);

    // Without any resolver at hand the look-up may take longer than the limit.
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

// A listener whose queue is full does not answer further connections.
class full_listener {
public:
    explicit full_listener(asio::io_context& context) : acceptor_(context), filler_(context) {
        acceptor_.open(tcp::v4());
        acceptor_.bind({asio::ip::make_address("127.0.0.1"), 0});
        acceptor_.listen(0);
        filler_.connect(acceptor_.local_endpoint());
    }
    [[nodiscard]] std::string url() const {
        return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

private:
    tcp::acceptor acceptor_;
    tcp::socket filler_;
};

TEST_F(HttpTransport, GivesUpConnectingInTime) {
    full_listener listener(context());
    http_endpoint endpoint;
    endpoint.base_url = listener.url();
    endpoint.connect_timeout = milliseconds(20);
    const auto transport = make(endpoint);

    EXPECT_EQ(ask_once(*transport).failure, kind::timeout);
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

/// Answers before it has read the request, of which it reads no more until `go_on`.
http_test_server::script answering_early(std::string answer, event& go_on) {
    return [answer, &go_on](server_connection& peer) -> asio::awaitable<void> {
        char piece[64];
        co_await peer.socket.async_read_some(asio::buffer(piece), asio::use_awaitable);
        co_await peer.send(answer);
        co_await go_on.wait();
        co_await peer.wait_for_close();
    };
}

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
    EXPECT_EQ(server.accepted(), 2); // On the first the rest of a request would have to follow.
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
    // It may be closed before the next is there.
    EXPECT_EQ(asked_twice("Keep-Alive: timeout=1\r\n"), 2);
    EXPECT_EQ(asked_twice("Keep-Alive: timeout=0\r\n"), 2);
    EXPECT_EQ(asked_twice("Keep-Alive: timeout=soon\r\n"), 1);
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

TEST_F(HttpTransport, CancellationWhileConnectingEndsTheAttempt) {
    full_listener listener(context());
    http_endpoint endpoint;
    endpoint.base_url = listener.url();
    const auto transport = make(endpoint);
    start(*transport);
    asio::post(context(), [this] {
        asio::post(context(), [this] { stop.emit(asio::cancellation_type::terminal); });
    });

    run(ended.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationBeforeTheFirstByteClosesTheConnection) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        stop.emit(asio::cancellation_type::terminal);
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    start(*transport);

    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationInTheBodyClosesTheConnection) {
    event closed(context());
    event begun(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        begun.set();
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    start(*transport);
    run(begun.wait());
    stop.emit(asio::cancellation_type::terminal);

    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationBetweenTwoReadsEndsTheNext) {
    event closed(context());
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        co_await peer.wait_for_close();
        closed.set();
    });
    const auto transport = make(server);
    const auto read_twice = [](http_client& client, asio::cancellation_signal& signal
                            ) -> asio::awaitable<client_answer> {
        co_await asio::this_coro::throw_if_cancelled(false);
        const transport_request request = simple_request();
        const auto posted = co_await client.send(request);
        client_answer answer;
        answer.body = (co_await posted.value()->read()).value();
        signal.emit(asio::cancellation_type::terminal);
        const auto rest = co_await posted.value()->read();
        if (!rest) {
            answer.failure = rest.error().what;
        }
        co_return answer;
    };
    asio::co_spawn(
        context(), read_twice(*transport, stop),
        asio::bind_cancellation_slot(
            stop.slot(),
            [this](std::exception_ptr, client_answer answer) {
                cancelled_answer = std::move(answer);
                ended.set();
            }
        )
    );

    run(ended.wait());
    run(closed.wait());

    EXPECT_EQ(cancelled_answer.body, "a");
    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
}

TEST_F(HttpTransport, CancellationAtEveryStepIsReportedAsSuch) {
    // Emitted after n handlers of the context have run, for every n until the request is through.
    // The server says nothing more from then on: only the cancellation can end what is not
    // complete.
    bool through = false;
    int cancellations = 0;
    for (int steps = 0; !through && steps < 200; ++steps) {
        SCOPED_TRACE(steps);
        asio::io_context own(1);
        bool emitted = false;
        bool all_sent = false;
        bool asked = false;
        bool closed = false;
        http_test_server server(own, [&](server_connection& peer) -> asio::awaitable<void> {
            asked = !(co_await peer.read_request()).empty();
            if (!asked) {
                co_return;
            }
            if (!emitted) {
                co_await peer.send(chunked_header + chunk("a"));
            }
            if (!emitted) {
                all_sent = true;
                co_await peer.send(chunk("b") + chunk(""));
            }
            co_await peer.wait_for_close();
            closed = true;
        });
        const auto transport = make(server);
        asio::cancellation_signal signal;
        std::optional<client_answer> answer;
        asio::co_spawn(
            own, ask(*transport, simple_request()),
            asio::bind_cancellation_slot(
                signal.slot(),
                [&](std::exception_ptr error, client_answer got) {
                    // The await of read() itself may throw: ask() does nothing against it.
                    if (!error) {
                        answer = std::move(got);
                    } else {
                        answer.emplace().failure = kind::cancelled;
                    }
                }
            )
        );
        for (int i = 0; i < steps && !answer; ++i) {
            own.run_one_for(std::chrono::seconds(5));
        }
        through = answer.has_value();
        emitted = true;
        const bool was_sent = all_sent;
        signal.emit(asio::cancellation_type::terminal);
        while (!answer && own.run_one_for(std::chrono::seconds(5)) > 0) {
        }
        ASSERT_TRUE(answer) << "the request goes on";
        const bool was_cancelled = answer->failure == kind::cancelled;
        cancellations += was_cancelled ? 1 : 0;
        // A cancellation that comes after the last byte may find nothing to cancel.
        EXPECT_TRUE(was_cancelled || (was_sent && !answer->failure && answer->body == "ab"));
        while (was_cancelled && asked && !closed && own.run_one_for(std::chrono::seconds(5)) > 0) {
        }
        EXPECT_TRUE(closed || !was_cancelled || !asked);
    }
    EXPECT_TRUE(through);
    EXPECT_GE(cancellations, 5) << "connecting, sending, waiting, and between the pieces";
}

TEST_F(HttpTransport, DoesNothingForACoroutineThatIsAlreadyCancelled) {
    http_test_server server(context(), [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    const auto late = [](http_client& client,
                         asio::cancellation_signal& signal) -> asio::awaitable<client_answer> {
        co_await asio::this_coro::throw_if_cancelled(false);
        signal.emit(asio::cancellation_type::terminal);
        co_return co_await ask(client, simple_request());
    };
    asio::co_spawn(
        context(), late(*transport, stop),
        asio::bind_cancellation_slot(
            stop.slot(),
            [this](std::exception_ptr, client_answer answer) {
                cancelled_answer = std::move(answer);
                ended.set();
            }
        )
    );

    run(ended.wait());

    EXPECT_EQ(cancelled_answer.failure, kind::cancelled);
    EXPECT_EQ(server.accepted(), 0);
}

TEST_F(HttpTransport, LeavesNothingBehindThatKeepsTheContextRunning) {
    asio::io_context server_context(1);
    http_test_server server(server_context, [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(response("ok"));
        server.close();
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    std::thread thread([&] { server_context.run(); });
    std::string body;
    {
        asio::io_context own(1);
        asio::co_spawn(
            own, ask(*transport, simple_request()),
            [&](std::exception_ptr, client_answer answer) { body = answer.body; }
        );

        own.run(); // Returns although a connection is idle in the pool.
    }
    thread.join(); // Returns because the context has closed it.

    EXPECT_EQ(body, "ok");
}

TEST_F(HttpTransport, SurvivesAContextThatIsDestroyedInTheMiddleOfAnAnswer) {
    asio::io_context server_context(1);
    http_test_server server(server_context, [&](server_connection& peer) -> asio::awaitable<void> {
        co_await peer.read_request();
        co_await peer.send(chunked_header + chunk("a"));
        server.close();
        co_await peer.wait_for_close();
    });
    const auto transport = make(server);
    std::thread thread([&] { server_context.run(); });
    {
        asio::io_context own(1);
        bool begun = false;
        const auto read = [](http_client& client, bool& first) -> asio::awaitable<void> {
            const transport_request request = simple_request();
            const auto posted = co_await client.send(request);
            co_await posted.value()->read();
            first = true;
            co_await posted.value()->read();
        };
        asio::co_spawn(own, read(*transport, begun), asio::detached);
        while (!begun && own.run_one_for(std::chrono::seconds(5)) > 0) {
        }
        EXPECT_TRUE(begun);
    }
    thread.join();
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

TEST(HttpEndpoint, RefusesUrlsThatCannotBeUsed) {
    for (const std::string url :
         {"", "localhost:80", "ftp://example.org", "http://", "http://user:pw@example.org",
          "http://example.org/#x", "http://example.org:0", "http://example.org:70000",
          "http://a%20b/", "http://exa mple.org", "/v1"}) {
        SCOPED_TRACE(url);
        http_endpoint endpoint;
        endpoint.base_url = url;
        const auto made = make_http_client(endpoint);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::invalid_input);
        EXPECT_EQ(made.error().detail.find("pw"), std::string::npos);
    }
}

TEST(HttpEndpoint, TakesUsualUrls) {
    for (const std::string url :
         {"http://example.org", "https://example.org/v1", "http://127.0.0.1:4010/v1/",
          "http://[::1]:8080", "HTTPS://Example.org",
          "https://example.org/v1?api-version=2024-10-21"}) {
        SCOPED_TRACE(url);
        http_endpoint endpoint;
        endpoint.base_url = url;
        EXPECT_TRUE(make_http_client(endpoint));
    }
}

TEST(HttpEndpoint, RefusesHeadersThatWouldBreakTheFraming) {
    const std::vector<std::pair<std::string, std::string>> headers = {
        {"Host", "x"},
        {"Content-Length", "1"},
        {"transfer-encoding", "chunked"},
        {"X Y", "z"},
        {"", "z"},
        {"X", "a\r\nY: secret"},
        {"X", "a\nb"},
    };
    for (const auto& header : headers) {
        SCOPED_TRACE(header.first);
        http_endpoint endpoint;
        endpoint.base_url = "http://example.org";
        endpoint.headers = {header};
        const auto made = make_http_client(endpoint);
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().detail.find("secret"), std::string::npos);
    }
}

TEST(HttpEndpoint, RefusesACaFileThatCannotBeRead) {
    http_endpoint endpoint;
    endpoint.base_url = "https://example.org";
    endpoint.ca_file = "no/such/file.pem";

    const auto made = make_http_client(endpoint);

    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().detail.substr(0, 8), "ca_file:");
}

} // namespace
} // namespace agui::runner
