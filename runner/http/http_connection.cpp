#include "runner/http/http_connection.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr std::size_t idle_per_origin_max = 32;

} // namespace

http_connection::http_connection(
    const asio::any_io_executor& executor, std::shared_ptr<http_origin> origin
)
    : origin_(std::move(origin)), socket_(executor) {}

// Registers the descriptor anew: async_connect() had registered EPOLLOUT, so each wait_readable()
// would report a writable socket as well. A write that had to wait brings that back, which costs
// one more epoll_wait for each wait.
boost::system::error_code http_connection::take(asio::ip::tcp::socket connected) {
    boost::system::error_code ec;
    const auto protocol = connected.local_endpoint(ec).protocol();
    if (ec) {
        return ec;
    }
    const int descriptor = connected.release(ec);
    if (ec) {
        return ec;
    }
    socket_.assign(protocol, descriptor, ec);
    if (ec) {
        ::close(descriptor);
    }
    return ec;
}

asio::awaitable<std::tuple<boost::system::error_code>> http_connection::handshake() {
    if (!origin_->tls) {
        co_return boost::system::error_code();
    }
    tls_ = std::make_unique<asio::ssl::stream<asio::ip::tcp::socket&>>(socket_, *origin_->tls);
    const std::string& host = origin_->url.host;
    boost::system::error_code ec;
    asio::ip::make_address(host, ec);
    // An address is not sent as a server name (RFC 6066, 3).
    const bool is_name = bool(ec);
    if (is_name && SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str()) != 1) {
        co_return boost::system::error_code(
            static_cast<int>(::ERR_get_error()), asio::error::get_ssl_category()
        );
    }
    tls_->set_verify_mode(asio::ssl::verify_peer);
    tls_->set_verify_callback(asio::ssl::host_name_verification(host));
    co_return co_await tls_->async_handshake(asio::ssl::stream_base::client, as_result);
}

asio::awaitable<http_connection::io_result> http_connection::read_some(asio::mutable_buffer to) {
    return tls_ ? tls_->async_read_some(to, as_result) : socket_.async_read_some(to, as_result);
}

asio::awaitable<http_connection::io_result>
http_connection::write_some(const std::array<asio::const_buffer, 2>& from) {
    return tls_ ? tls_->async_write_some(from, as_result)
                : socket_.async_write_some(from, as_result);
}

http_connection::io_result http_connection::receive(boost::asio::mutable_buffer to) {
    const auto received = ::recv(socket_.native_handle(), to.data(), to.size(), MSG_DONTWAIT);
    if (received < 0) {
        return {boost::system::error_code(errno, boost::system::system_category()), 0};
    }
    if (received == 0) {
        return {asio::error::eof, 0};
    }
    return {boost::system::error_code(), static_cast<std::size_t>(received)};
}

void http_connection::close() noexcept {
    boost::system::error_code ignored; // The socket is closed even if close(2) fails.
    socket_.close(ignored);
}

bool http_connection::idle_and_open() noexcept {
    char byte = 0;
    const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

connection_pool& connection_pool::of(const asio::any_io_executor& executor) {
    return asio::use_service<connection_pool>(asio::query(executor, asio::execution::context));
}

std::unique_ptr<http_connection> connection_pool::take(std::uint64_t origin) {
    drop_old(clock::now());
    const auto found = idle_.find(origin);
    std::unique_ptr<http_connection> result;
    while (found != idle_.end() && !found->second.empty() && !result) {
        result = std::move(found->second.back().connection);
        found->second.pop_back();
        if (!result->idle_and_open()) {
            result.reset();
        }
    }
    return result;
}

void connection_pool::give_back(
    std::uint64_t origin, std::unique_ptr<http_connection> connection, std::chrono::seconds keep
) {
    const clock::time_point now = clock::now();
    drop_old(now);
    std::vector<idle_connection>& idle = idle_[origin];
    if (idle.size() < idle_per_origin_max) {
        idle.push_back({std::move(connection), now + std::min(keep, idle_time_max)});
    }
}

void connection_pool::drop_old(clock::time_point now) {
    for (auto each = idle_.begin(); each != idle_.end();) {
        std::erase_if(each->second, [now](const idle_connection& one) { return now >= one.until; });
        each = each->second.empty() ? idle_.erase(each) : std::next(each);
    }
}

} // namespace agui::runner
