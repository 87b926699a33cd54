#pragma once

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

namespace agui::runner::http_transport_case {

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

/// The outcome of one request for the client.
struct client_answer {
    std::optional<kind> failure;
    int status = 0;
    std::string body;
    std::string type;
    bool unsent = false;
};

/// Adds up the parts of a body.
class body_collector final : public part_taker {
public:
    explicit body_collector(client_answer& into) : into_(into) {}

    bool take(const transport_result<std::string_view>& part) override {
        if (!part) {
            into_.failure = part.error().what;
            return false;
        }
        into_.body.append(*part);
        return !part->empty();
    }

private:
    client_answer& into_;
};

inline asio::awaitable<client_answer> ask(http_client& transport, transport_request request) {
    client_answer answer;
    auto posted = co_await transport.send(request);
    if (!posted) {
        answer.failure = posted.error().what;
        answer.unsent = posted.error().unsent;
        co_return answer;
    }
    const std::unique_ptr<transport_response> response = std::move(*posted);
    answer.status = response->status();
    answer.type = response->header("content-type");
    body_collector body(answer);
    co_await response->read_parts(body);
    co_return answer;
}

inline transport_request simple_request(std::string body = "{}") {
    transport_request request;
    request.target = "/chat";
    request.body = std::move(body);
    return request;
}

inline std::shared_ptr<http_client> make(http_endpoint endpoint) {
    return make_http_client(std::move(endpoint)).value();
}

inline std::shared_ptr<http_client> make(const http_test_server& server) {
    http_endpoint endpoint;
    endpoint.base_url = server.url("/v1");
    return make(std::move(endpoint));
}

class HttpTransport : public test::coroutine_test {
protected:
    client_answer ask_once(http_client& transport, transport_request request = simple_request()) {
        return run(ask(transport, std::move(request)));
    }

    /// Starts a request that `stop` cancels. Its answer is complete when `ended` is set.
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

// A listener whose queue is full, so that it accepts no further connections.
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

inline http_test_server::script answering_early(std::string answer, event& go_on) {
    return [answer, &go_on](server_connection& peer) -> asio::awaitable<void> {
        char piece[64];
        co_await peer.socket.async_read_some(asio::buffer(piece), asio::use_awaitable);
        co_await peer.send(answer);
        co_await go_on.wait();
        co_await peer.wait_for_close();
    };
}

} // namespace agui::runner::http_transport_case
