// Reads the body of a response: it runs for every token of a model.

#include "runner/http/http_exchange.hpp"
#include "runner/http/http_exchange_failures.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

// Buffer of a waiting plain stream: a token or a few. With a buffer the wait costs no epoll_ctl,
// unlike a wait for readiness alone.
constexpr std::size_t waiting_bytes = 512;

// Shared by all plain streams of a thread to read more than that. The bytes are used before the
// stream waits again.
std::span<char> shared_buffer() {
    thread_local std::vector<char> buffer(64U << 10U);
    return buffer;
}

} // namespace

// The frame lives while the stream waits, and holds all local variables of the loop. So failures
// are made in separate functions, which must not be inlined.
asio::awaitable<transport_result<std::string_view>> http_exchange::read() {
    begin_idle();
    for (;;) {
        if (const std::string_view body = take_buffered(); !body.empty()) {
            co_return body;
        }
        if (failure_) {
            co_return *failure_;
        }
        if (ended_) {
            co_return std::string_view();
        }
        if (cancelled(co_await asio::this_coro::cancellation_state)) {
            (void)give_up(cancelled_before);
            continue;
        }
        const bool plain = connection_->plain();
        // Only once, then it waits like other streams: a server that sends without a pause must not
        // delay the other streams of this thread.
        if (plain && std::exchange(burst_, false)) {
            if (const std::string_view body = read_shared(); !body.empty()) {
                co_return body;
            }
            if (failure_ || ended_) {
                continue;
            }
        }
        if (plain && end_ - begin_ >= waiting_bytes) { // A chunk-size line of that length.
            arm_read();
            const auto [ec] = co_await connection_->readable();
            const bool by_us = cancelled(co_await asio::this_coro::cancellation_state);
            if (end_body_read({ec, 0}, by_us)) {
                if (const std::string_view body = read_shared(); !body.empty()) {
                    co_return body;
                }
            }
            continue;
        }
        if (plain) {
            make_waiting_room();
            arm_read();
        } else if (!begin_read()) {
            (void)give_up(line_too_long);
            continue;
        }
        // Awaited here, not in a separate function, because this runs for every token.
        const auto outcome =
            co_await connection_->read_some({buffer_.data() + end_, buffer_.size() - end_});
        const bool by_us = cancelled(co_await asio::this_coro::cancellation_state);
        if (end_body_read(outcome, by_us)) {
            burst_ = plain && end_ == buffer_.size();
        }
    }
}

/// Decodes what is in the buffer. Returns an empty view if that holds no part of the body.
[[gnu::noinline]] std::string_view http_exchange::take_buffered() {
    // The parser has made what it could of the earlier bytes, and needs more.
    if (failure_ || ended_ || begin_ == end_ || !std::exchange(undecoded_, false)) {
        return {};
    }
    char* const first = buffer_.data() + begin_;
    const auto step = reader_.read_body(std::span<char>(first, end_ - begin_));
    if (step.failed) {
        (void)give_up({.what = transport_failure::kind::protocol, .detail = reader_.error()});
        return {};
    }
    begin_ += step.consumed;
    if (reader_.done()) {
        complete();
    }
    return {first, step.body};
}

/// end_read(), and returns false after giving up if it has failed.
[[gnu::noinline]] bool
http_exchange::end_body_read(const http_connection::io_result& outcome, bool by_us) {
    const auto failed = end_read(outcome, by_us);
    if (failed) {
        (void)give_up(*failed);
    }
    return !failed;
}

/// Switches to the small buffer, with the kept bytes at its start. kept < waiting_bytes
void http_exchange::make_waiting_room() {
    const std::size_t kept = end_ - begin_;
    if (buffer_.size() != waiting_bytes) {
        std::vector<char> small(waiting_bytes); // Frees the room that the header needed.
        std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), kept, small.begin());
        buffer_.swap(small);
    } else if (begin_ > 0 && kept > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
    }
    begin_ = 0;
    end_ = kept;
}

/// Reads and decodes the available bytes. Returns an empty view if they hold no part of the body,
/// or after giving up.
[[gnu::noinline]] std::string_view http_exchange::read_shared() {
    const std::span<char> shared = shared_buffer();
    const std::size_t kept = end_ - begin_;
    if (kept >= shared.size()) {
        (void)give_up(line_too_long);
        return {};
    }
    if (kept > 0) { // The buffer may have been freed, and memcpy takes no null pointer.
        std::memcpy(shared.data(), buffer_.data() + begin_, kept);
    }
    const auto outcome =
        connection_->receive(asio::buffer(shared.data() + kept, shared.size() - kept));
    const auto& [ec, received] = outcome;
    if (ec == asio::error::would_block || !end_body_read(outcome, false) || ended_) {
        return {};
    }
    undecoded_ = false;
    const auto step = reader_.read_body(shared.first(kept + received));
    if (step.failed) {
        (void)give_up({.what = transport_failure::kind::protocol, .detail = reader_.error()});
        return {};
    }
    // The rest is mostly the line end after a chunk.
    const std::span<char> rest = shared.first(kept + received).subspan(step.consumed);
    if (rest.size() < waiting_bytes) {
        begin_ = end_ = 0;
        make_waiting_room();
        std::ranges::copy(rest, buffer_.begin());
    } else {
        buffer_.assign(rest.begin(), rest.end());
    }
    begin_ = 0;
    end_ = rest.size();
    if (reader_.done()) {
        complete();
    }
    return {shared.data(), step.body};
}

/// Starts the idle time here: time in which we do not read is not the server's fault.
void http_exchange::begin_idle() {
    if (!idle_goes_on_) {
        idle_left_ = origin_->settings.idle_timeout;
    }
    idle_goes_on_ = false;
    idle_since_ = deadline_sweep::clock::now();
    idle_deadline_ = idle_since_ + idle_left_;
}

void http_exchange::wait_first(std::chrono::milliseconds time) noexcept {
    idle_goes_on_ = true;
    idle_left_ = time;
}

void http_exchange::was_idle() noexcept {
    idle_goes_on_ = true;
    idle_left_ -= std::min(idle_left_, deadline_sweep::clock::now() - idle_since_);
}

} // namespace agui::runner
