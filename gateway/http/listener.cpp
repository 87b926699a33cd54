#include "gateway/http/listener.hpp"

#include "gateway/http/http_error.hpp"
#include "gateway/http/response_head.hpp"
#include "session/base/as_result.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

/// Pause after an error, such as a lack of descriptors.
constexpr std::chrono::milliseconds accept_pause{100};
constexpr int accept_backlog = 4096;
/// Bytes that the kernel buffers for a peer that does not read (it doubles the number). Without a
/// limit, each slow reader would take megabytes.
constexpr int send_buffer_bytes = 128 * 1024;

} // namespace

tcp::endpoint parse_endpoint(const std::string& listen) {
    const std::size_t colon = listen.rfind(':');
    if (colon == std::string::npos) {
        throw std::invalid_argument("an address needs a port, as in \"127.0.0.1:8080\"");
    }
    std::uint16_t port = 0;
    const char* port_begin = listen.data() + colon + 1;
    const char* port_end = listen.data() + listen.size();
    const auto [rest, problem] = std::from_chars(port_begin, port_end, port);
    if (problem != std::errc{} || rest != port_end) {
        throw std::invalid_argument("the port must be a number from 0 to 65535");
    }
    std::string host = listen.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host == "localhost") {
        host = "127.0.0.1";
    }
    boost::system::error_code ec;
    const asio::ip::address address = asio::ip::make_address(host, ec);
    if (ec) {
        throw std::invalid_argument("the address must be an IP address or localhost");
    }
    return {address, port};
}

listener::listener(
    const asio::any_io_executor& executor, const tcp::endpoint& where, std::vector<target> targets,
    admit_function admit, logger& log
)
    : acceptor_(executor), targets_(std::move(targets)), admit_(std::move(admit)), log_(log) {
    boost::system::error_code ec;
    acceptor_.open(where.protocol(), ec);
    if (!ec) {
        acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
    }
    if (!ec) {
        acceptor_.set_option(asio::socket_base::send_buffer_size(send_buffer_bytes), ec);
    }
    if (!ec) {
        acceptor_.bind(where, ec);
    }
    if (!ec) {
        acceptor_.listen(accept_backlog, ec);
    }
    if (ec) {
        // A copy without the source location in Asio, which what() would print.
        const boost::system::error_code reason(ec.value(), ec.category());
        throw boost::system::system_error(
            reason, "cannot listen on " + where.address().to_string() + " port " +
                        std::to_string(where.port())
        );
    }
    endpoint_ = acceptor_.local_endpoint();
}

asio::awaitable<void> listener::run() {
    while (acceptor_.is_open()) {
        target& chosen = targets_[next_];
        tcp::endpoint peer;
        auto [ec, socket] = co_await acceptor_.async_accept(chosen.executor, peer, as_result);
        if (!acceptor_.is_open()) {
            co_return;
        }
        if (ec == asio::error::connection_aborted) {
            continue;
        }
        if (ec) {
            if (not_accepted_.due(std::chrono::steady_clock::now())) {
                log_.log(log_level::error, "cannot accept connections", {{"error", ec.message()}});
            }
            asio::steady_timer pause(acceptor_.get_executor(), accept_pause);
            (void)co_await pause.async_wait(as_result); // It is never cancelled.
            continue;
        }
        connection_places::admission admitted = admit_(peer.address());
        if (admitted.why != connection_places::shortage::none) {
            warn_of_shortage(admitted.why, peer.address());
        }
        if (!admitted.place) {
            turn_away(std::move(socket), admitted.why);
            continue;
        }
        pass_failpoint("listener.accepted");
        next_ = (next_ + 1) % targets_.size();
        auto add = [&chosen, accepted = std::move(socket),
                    place = std::move(admitted.place)]() mutable {
            chosen.add(std::move(accepted), std::move(place));
        };
        asio::post(chosen.executor, std::move(add));
    }
}

void listener::warn_of_shortage(connection_places::shortage why, const asio::ip::address& peer) {
    const auto now = std::chrono::steady_clock::now();
    const bool of_client = why == connection_places::shortage::of_clients;
    if (of_client && client_full_.due(now)) {
        log_.log(
            log_level::warning,
            "an address has reached server.max_connections_per_address (if it is a reverse proxy, "
            "add it to server.trusted_proxies)",
            {{"address", peer.to_string()}}
        );
    } else if (!of_client && full_.due(now)) {
        log_.log(log_level::warning, "server.max_connections is reached");
    }
}

void listener::turn_away(tcp::socket socket, connection_places::shortage why) {
    const auto [code, text] = refusal_of(why);
    const http_reply reply = to_reply(code, text);
    reply_terms terms;
    terms.keep_alive = false;
    const std::string head = write_reply_head(reply, terms);
    boost::system::error_code ignored; // Best effort: the connection is closed in any case.
    socket.non_blocking(true, ignored);
    std::array<char, 4096> request; // An unread request would make close() destroy the reply.
    (void)socket.read_some(asio::buffer(request), ignored);
    (void)socket.write_some(std::array{asio::buffer(head), asio::buffer(reply.body)}, ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void listener::close() {
    boost::system::error_code ignored; // The socket is closed even if an error is reported.
    acceptor_.close(ignored);
}

} // namespace agui::gateway
