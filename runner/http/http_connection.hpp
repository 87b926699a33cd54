#pragma once

#include "runner/http/http_origin.hpp"
#include "session/base/as_result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace agui::runner {

/// A TCP or TLS connection. Used on its executor only. Not movable, because TLS refers to the
/// socket.
class http_connection {
public:
    using io_result = std::tuple<boost::system::error_code, std::size_t>;

    http_connection(
        const boost::asio::any_io_executor& executor, std::shared_ptr<http_origin> origin
    );
    http_connection(const http_connection&) = delete;
    http_connection& operator=(const http_connection&) = delete;

    [[nodiscard]] boost::asio::ip::tcp::socket& socket() noexcept { return socket_; }
    /// Takes over a socket that was connected.
    [[nodiscard]] boost::system::error_code take(boost::asio::ip::tcp::socket connected);

    /// Begins TLS over the connected socket: sends the host's name, verifies the certificate chain
    /// and the name. Does nothing for plain http.
    [[nodiscard]] boost::asio::awaitable<std::tuple<boost::system::error_code>> handshake();

    [[nodiscard]] boost::asio::awaitable<io_result> read_some(boost::asio::mutable_buffer to);
    /// Calls `handler` with the error code and the number of bytes.
    template <class Handler>
    void read_some(boost::asio::mutable_buffer to, Handler&& handler) {
        if (tls_) {
            tls_->async_read_some(to, std::forward<Handler>(handler));
        } else {
            socket_.async_read_some(to, std::forward<Handler>(handler));
        }
    }
    [[nodiscard]] boost::asio::awaitable<io_result>
    write_some(const std::array<boost::asio::const_buffer, 2>& from);

    /// True if there is no TLS, so that wait_readable() and receive() may be used.
    [[nodiscard]] bool plain() const noexcept { return !tls_; }
    /// Calls `handler` with an error code when receive() has data or an error.
    template <class Handler>
    void wait_readable(Handler&& handler) {
        socket_.async_wait(boost::asio::ip::tcp::socket::wait_read, std::forward<Handler>(handler));
    }
    /// Reads what has arrived; would_block if nothing has.
    [[nodiscard]] io_result receive(boost::asio::mutable_buffer to);

    /// Operations that wait on the connection end with operation_aborted.
    void close() noexcept;

    /// False if the peer closed the connection or sent bytes without a request: it cannot be used
    /// for a request.
    [[nodiscard]] bool idle_and_open() noexcept;

private:
    std::shared_ptr<http_origin> origin_;
    boost::asio::ip::tcp::socket socket_;
    /// Null without TLS.
    std::unique_ptr<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
};

/// The idle connections of one execution context: at most 32 for each origin, each for at most a
/// minute. Expired ones are dropped at the next use of the pool, because a timer would keep run()
/// from returning. Used on the one thread that runs the context.
class connection_pool final : public boost::asio::execution_context::service {
public:
    /// No longer than common servers and load balancers keep idle connections (60 s and more).
    static constexpr std::chrono::seconds idle_time_max{60};

    using key_type = connection_pool;
    static inline boost::asio::execution_context::id id;

    explicit connection_pool(boost::asio::execution_context& context) : service(context) {}

    /// The pool of the executor's context.
    [[nodiscard]] static connection_pool& of(const boost::asio::any_io_executor& executor);

    /// The most recently used connection that is still open; null if there is none.
    [[nodiscard]] std::unique_ptr<http_connection> take(std::uint64_t origin);
    /// Keeps the connection for at most `keep`.
    void give_back(
        std::uint64_t origin, std::unique_ptr<http_connection> connection,
        std::chrono::seconds keep = idle_time_max
    );

private:
    using clock = std::chrono::steady_clock;

    struct idle_connection {
        std::unique_ptr<http_connection> connection;
        clock::time_point until;
    };

    void shutdown() override { idle_.clear(); }
    void drop_old(clock::time_point now);

    std::map<std::uint64_t, std::vector<idle_connection>> idle_;
};

} // namespace agui::runner
