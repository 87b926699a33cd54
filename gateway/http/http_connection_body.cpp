#include "gateway/http/http_connection.hpp"
#include "session/base/ascii.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;

namespace {

constexpr std::size_t body_read_bytes = 65'536;
// The largest body that may use the memory reserve: a message, a stop, a tool's answer.
constexpr std::size_t small_body_bytes = 65'536;

// Gives the body exactly that capacity, where std::string::reserve() would at least double it.
void grow(std::string& body, std::size_t capacity) {
    std::string larger;
    larger.reserve(capacity);
    larger.append(body);
    body.swap(larger);
}

} // namespace

void http_connection::refuse_too_large() {
    refuse(
        http_errc::body_too_large, max_body_bytes_ < services_.limits.max_body_bytes
                                       ? "The body is too large for this path."
                                       : "The body exceeds server.max_body_bytes."
    );
}

asio::awaitable<bool>
http_connection::read_body(http_request& request, const body_framing& framing) {
    body_received_ = 0;
    enter(phase::body);
    if (in_.empty() && !terms_.http_1_0 &&
        equal_ignoring_case(request.header("expect"), "100-continue")) {
        gather interim;
        interim.add(asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")));
        const bool written = co_await write_rest(interim);
        if (!written) {
            co_return false;
        }
        enter(phase::body);
    }
    body_mark_ = 0;
    body_mark_at_ = now_;
    body_progress_ = now_;
    request.memory = memory_share(&services_.memory, memory_use::small);
    boost::system::error_code ec; // If the peer has left, the next read shows it.
    const auto peer = socket_.remote_endpoint(ec).address();
    address_shares::share unfinished(
        services_.unfinished,
        ec ? std::string() : client_of(peer, request, services_.trusted_proxies)
    );
    bool complete = false;
    if (framing.chunked) {
        complete = co_await read_chunked_body(request, unfinished);
    } else {
        complete =
            co_await read_plain_body(request, static_cast<std::size_t>(framing.length), unfinished);
    }
    if (!complete && timed_out_) {
        refuse_and_close(http_errc::request_timeout, "The body did not arrive in time.");
    }
    co_return complete;
}

// The buffer grows with what has arrived: the announced length may never come.
asio::awaitable<bool> http_connection::read_plain_body(
    http_request& request, std::size_t length, address_shares::share& unfinished
) {
    std::string& body = request.body;
    body = in_.substr(0, length);
    in_.erase(0, body.size());
    while (hold(request, unfinished)) {
        if (body.size() == length) {
            co_return true;
        }
        if (body.size() == body.capacity()) {
            grow(body, std::min(length, std::max(2 * body.size(), body_read_bytes)));
            continue; // hold() counts the new capacity.
        }
        const std::size_t room = std::min(length, body.capacity()) - body.size();
        const std::size_t count = co_await read_some(body, std::min(room, body_read_bytes));
        if (count == 0) {
            break;
        }
    }
    co_return false;
}

asio::awaitable<bool>
http_connection::read_chunked_body(http_request& request, address_shares::share& unfinished) {
    chunked_decoder decoder(max_body_bytes_);
    for (;;) {
        in_.erase(0, decoder.feed(in_, request.body));
        if (!hold(request, unfinished)) {
            co_return false;
        }
        switch (decoder.status()) {
        case chunked_decoder::state::complete:
            co_return true;
        case chunked_decoder::state::refused:
            refuse_and_close(http_errc::bad_framing, "The chunked body is malformed.");
            co_return false;
        case chunked_decoder::state::too_large:
            refuse_too_large();
            terms_.keep_alive = false;
            co_return false;
        case chunked_decoder::state::need_more:
            break;
        }
        const std::size_t count = co_await read_some(in_, body_read_bytes);
        if (count == 0) {
            co_return false;
        }
    }
}

// Counts the memory of the body so far. False: there is no room for it, and reply_ says so.
bool http_connection::hold(http_request& request, address_shares::share& unfinished) {
    const std::size_t bytes = request.body.capacity();
    if (request.body.size() > body_received_) {
        body_progress_ = now_;
    }
    body_received_ = request.body.size();
    if (bytes > small_body_bytes) {
        request.memory.set_use(memory_use::ordinary);
    }
    if (!request.memory.grow_to(bytes)) {
        refuse_and_close(
            http_errc::overloaded,
            "There is not enough memory for this request (server.max_memory_bytes)."
        );
        return false;
    }
    if (bytes > small_body_bytes && !unfinished.grow_to(bytes)) {
        refuse_and_close(
            http_errc::rate_limited, "Too many large requests from one address at a time."
        );
        return false;
    }
    return true;
}

// A body must never stop arriving for long, and after a while it must keep a minimum rate. A fast
// start does not make up for a slow rest, because what has arrived takes memory.
bool http_connection::body_is_late() {
    const connection_limits& limits = services_.limits;
    const auto period = std::min(limits.body_idle, limits.body);
    if (now_ - body_progress_ >= period) {
        return true;
    }
    if (now_ - body_mark_at_ < period) {
        return false;
    }
    const auto least = static_cast<std::size_t>(period.count()) * limits.min_body_rate / 1000;
    const bool slow = body_received_ - body_mark_ < least;
    body_mark_ = body_received_;
    body_mark_at_ = now_;
    return slow && now_ - since_ >= limits.body;
}

} // namespace agui::gateway
