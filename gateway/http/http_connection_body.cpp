#include "gateway/http/http_connection.hpp"

#include "session/base/as_result.hpp"
#include "session/base/ascii.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr std::size_t body_read_bytes = 65'536;

// Memory of a large body until its run has begun, as a multiple of its length, so that an accepted
// body is not refused later. It covers the body and, during parsing, its canonical text, its
// values, the resulting input, and spare capacity. Only lists of short values take more.
constexpr std::size_t copies_of_large_body = 5;

std::size_t memory_for_body(std::size_t bytes) {
    return memory_use_of_body(bytes) == memory_use::large ? copies_of_large_body * bytes : bytes;
}

// Gives the body exactly that capacity; std::string::reserve() would at least double it.
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

void http_connection::refuse_for_want_of_memory() {
    refuse_and_close(
        http_errc::overloaded,
        "There is not enough memory for this request (server.max_memory_bytes)."
    );
}

void http_connection::refuse_for_want_of_share() {
    refuse_and_close(
        http_errc::rate_limited, "Too many large requests from one address at a time."
    );
}

asio::awaitable<bool> http_connection::read_body(
    http_request& request, const body_framing& framing, const route& target
) {
    // Another gateway sends bodies of many clients, so they are not counted.
    address_shares::share unfinished(
        services_.unfinished, !peer_ || target.access.is_for_peers()
                                  ? std::string()
                                  : client_of(*peer_, request, services_.trusted_proxies)
    );
    const auto length = static_cast<std::size_t>(framing.length);
    request.memory = memory_share(&services_.memory, memory_use::small);
    if (!framing.chunked && memory_use_of_body(length) == memory_use::large) {
        if (!unfinished.grow_to(length)) {
            refuse_for_want_of_share();
            co_return false;
        }
        const bool has_memory = co_await wait_for_memory(request, length);
        if (!has_memory) {
            co_return false;
        }
        grow(request.body, length); // Unwritten pages take no memory.
    }
    const bool wanted = co_await ask_for_body(request);
    if (!wanted) {
        co_return false;
    }
    body_received_ = 0;
    enter(phase::body);
    body_mark_ = 0;
    body_mark_at_ = now_;
    body_progress_ = now_;
    bool complete = false;
    if (framing.chunked) {
        complete = co_await read_chunked_body(request, unfinished);
    } else {
        complete = co_await read_plain_body(request, length, unfinished);
    }
    if (!complete && timed_out_) {
        refuse_and_close(http_errc::request_timeout, "The body did not arrive in time.");
    }
    co_return complete;
}

// Reads nothing meanwhile. Returns false if there was no memory in time, and reply_ says so, or if
// the peer has left.
asio::awaitable<bool> http_connection::wait_for_memory(http_request& request, std::size_t length) {
    const std::size_t bytes = memory_for_body(length);
    if (bytes > services_.memory.limit(memory_use::large)) {
        refuse_for_want_of_memory();
        co_return false;
    }
    enter(phase::queued);
    timed_out_ = false;
    memory_queue::place place(
        services_.large_bodies, bytes,
        [executor = socket_.get_executor(), weak = weak_from_this()] {
            asio::post(executor, [weak] {
                if (const auto self = weak.lock()) {
                    self->on_turn();
                }
            });
        }
    );
    if (!place.has_turn()) {
        pass_failpoint("body.queued");
        // Ends when on_turn(), sweep() or a close cancels it, or when the peer resets the
        // connection.
        (void)co_await socket_.async_wait(tcp::socket::wait_error, as_result);
    }
    if (place.has_turn()) {
        request.memory = place.take();
        co_return true;
    }
    if (timed_out_) {
        refuse_for_want_of_memory();
    }
    co_return false;
}

void http_connection::on_turn() {
    if (phase_ == phase::queued) {
        boost::system::error_code ignored; // Fails only for a closed socket, which has no wait.
        socket_.cancel(ignored);
    }
}

// Some clients send the head first, and the body only when asked for it.
asio::awaitable<bool> http_connection::ask_for_body(const http_request& request) {
    if (!in_.empty() || terms_.http_1_0 ||
        !equal_ignoring_case(request.header("expect"), "100-continue")) {
        co_return true;
    }
    gather interim;
    interim.add(asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")));
    co_return co_await write_rest(interim);
}

// Without reserved memory, the buffer grows with the received bytes, because the announced length
// may never arrive.
asio::awaitable<bool> http_connection::read_plain_body(
    http_request& request, std::size_t length, address_shares::share& unfinished
) {
    std::string& body = request.body;
    body.append(in_, 0, length);
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

// Counts the memory of the body so far. Returns false if there is no room for it, and reply_ says
// so.
bool http_connection::hold(http_request& request, address_shares::share& unfinished) {
    const std::size_t bytes = request.body.capacity();
    if (request.body.size() > body_received_) {
        body_progress_ = now_;
    }
    body_received_ = request.body.size();
    const memory_use use = memory_use_of_body(bytes);
    request.memory.set_use(use);
    if (!request.memory.grow_to(memory_for_body(bytes))) {
        refuse_for_want_of_memory();
        return false;
    }
    if (use != memory_use::small && !unfinished.grow_to(bytes)) {
        refuse_for_want_of_share();
        return false;
    }
    return true;
}

// A body must never stop arriving for long, and after a while it must keep a minimum rate. A fast
// start does not make up for a slow rest, because received bytes take memory.
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
