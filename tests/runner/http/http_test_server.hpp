#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {

/// An event that happens once and is awaited on one thread.
class event {
public:
    explicit event(boost::asio::io_context& context)
        : timer_(context, boost::asio::steady_timer::time_point::max()) {}

    void set() { timer_.expires_at(boost::asio::steady_timer::time_point::min()); }

    [[nodiscard]] boost::asio::awaitable<void> wait() {
        co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }

private:
    boost::asio::steady_timer timer_;
};

/// A connection, as the server's script uses it.
class server_connection {
public:
    server_connection(boost::asio::ip::tcp::socket accepted, int count)
        : number(count), socket(std::move(accepted)) {}

    /// Header and body of the next request. Both are empty if the peer closed instead.
    [[nodiscard]] boost::asio::awaitable<std::string> read_request() {
        const auto token = boost::asio::as_tuple(boost::asio::use_awaitable);
        const auto [ec, end] = co_await boost::asio::async_read_until(
            socket, boost::asio::dynamic_buffer(received_), "\r\n\r\n", token
        );
        if (ec) {
            co_return std::string();
        }
        const std::string name = "Content-Length: ";
        const std::size_t at = received_.find(name);
        const std::size_t length = at == std::string::npos || at > end
                                       ? 0
                                       : std::stoul(received_.substr(at + name.size()));
        while (received_.size() < end + length) {
            char piece[4096];
            const auto [failed, got] =
                co_await socket.async_read_some(boost::asio::buffer(piece), token);
            if (failed) {
                co_return std::string();
            }
            received_.append(piece, got);
        }
        std::string request = received_.substr(0, end + length);
        received_.erase(0, end + length);
        co_return request;
    }

    [[nodiscard]] boost::asio::awaitable<void> send(std::string bytes) {
        co_await boost::asio::async_write(
            socket, boost::asio::buffer(bytes), boost::asio::as_tuple(boost::asio::use_awaitable)
        );
    }

    /// Returns once the peer has closed.
    [[nodiscard]] boost::asio::awaitable<void> wait_for_close() {
        for (;;) {
            char piece[64];
            const auto [ec, got] = co_await socket.async_read_some(
                boost::asio::buffer(piece), boost::asio::as_tuple(boost::asio::use_awaitable)
            );
            if (ec) {
                co_return;
            }
        }
    }

    int number; ///< Counted from 0, in the order of acceptance.
    boost::asio::ip::tcp::socket socket;

private:
    std::string received_;
};

/// An HTTP server on its own port that handles each connection as a script says. Lives on one
/// thread, which runs its context, and outlives that run.
class http_test_server {
public:
    using script = std::function<boost::asio::awaitable<void>(server_connection&)>;

    http_test_server(boost::asio::io_context& context, script serve)
        : acceptor_(context, {boost::asio::ip::make_address("127.0.0.1"), 0}),
          serve_(std::move(serve)) {
        boost::asio::co_spawn(context, accept(), boost::asio::detached);
    }

    [[nodiscard]] std::string url(std::string_view path = "") const {
        return "http://127.0.0.1:" + std::to_string(port()) + std::string(path);
    }
    [[nodiscard]] unsigned short port() const { return acceptor_.local_endpoint().port(); }
    [[nodiscard]] int accepted() const noexcept { return accepted_; }

    /// Accepts no more connections. The context's run can end once the accepted ones have ended.
    void close() { acceptor_.close(); }

private:
    boost::asio::awaitable<void> accept() {
        for (;;) {
            auto [ec, socket] =
                co_await acceptor_.async_accept(boost::asio::as_tuple(boost::asio::use_awaitable));
            if (ec) {
                co_return;
            }
            socket.set_option(boost::asio::ip::tcp::no_delay(true));
            boost::asio::co_spawn(
                acceptor_.get_executor(), serve_one(std::move(socket), accepted_++),
                boost::asio::detached
            );
        }
    }

    boost::asio::awaitable<void> serve_one(boost::asio::ip::tcp::socket socket, int number) {
        server_connection connection(std::move(socket), number);
        co_await serve_(connection);
    }

    boost::asio::ip::tcp::acceptor acceptor_;
    script serve_;
    int accepted_ = 0;
};

/// A response with a length.
[[nodiscard]] inline std::string
response(std::string_view body, std::string_view status = "200 OK") {
    return "HTTP/1.1 " + std::string(status) +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

/// One chunk of a chunked body; an empty text makes the last one.
[[nodiscard]] inline std::string chunk(std::string_view text) {
    constexpr char digits[] = "0123456789abcdef";
    std::string size;
    for (std::size_t n = text.size(); n > 0; n /= 16) {
        size.insert(size.begin(), digits[n % 16]);
    }
    return (size.empty() ? "0" : size) + "\r\n" + std::string(text) + "\r\n";
}

inline const std::string chunked_header =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

} // namespace agui::test
