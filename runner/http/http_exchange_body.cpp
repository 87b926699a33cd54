// Reads the body of a response: it runs for every token of a model.

#include "runner/http/http_exchange.hpp"
#include "runner/http/http_exchange_failures.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

// Shared by the plain streams of a thread. A stream that waits keeps its unused bytes, mostly the
// line end after a chunk, in its own buffer.
std::span<char> shared_buffer() {
    thread_local std::vector<char> buffer(64U << 10U);
    return buffer;
}

} // namespace

/// The handler of a read while the caller of read_parts() is suspended. It starts the next read, or
/// lets the caller continue. Runs on the socket's executor, which is the caller's.
///
/// All tokens share one coroutine frame and one cancellation handler.
template <class Caller>
class http_exchange::body_wait {
public:
    body_wait(http_exchange& of, part_taker& to, Caller&& caller)
        : of_(of), to_(to), caller_(std::move(caller)) {
        if (auto stop = asio::get_associated_cancellation_slot(caller_); stop.is_connected()) {
            stop.assign([&of](asio::cancellation_type) { of.stop_wait(); });
        }
    }

    /// After begin_wait().
    void start() && {
        http_exchange& of = of_;
        http_connection& connection = *of.connection_;
        if (connection.plain()) {
            connection.wait_readable(std::move(*this));
        } else {
            const asio::mutable_buffer room(
                of.buffer_.data() + of.end_, of.buffer_.size() - of.end_
            );
            connection.read_some(room, std::move(*this));
        }
    }

    void operator()(const boost::system::error_code& ec, std::size_t received = 0) {
        bool goes_on = false;
        std::exception_ptr thrown;
        try {
            goes_on = of_.end_wait({ec, received}, to_);
        } catch (...) {
            thrown = std::current_exception();
        }
        auto stop = asio::get_associated_cancellation_slot(caller_);
        if (!goes_on) {
            stop.clear();
            std::move(caller_)(thrown);
            return;
        }
        try {
            std::move(*this).start();
        } catch (...) { // Out of memory: the caller is destroyed, its slot is not.
            stop.clear();
            throw;
        }
    }

private:
    http_exchange& of_;
    part_taker& to_;
    Caller caller_;
};

asio::awaitable<transport_result<std::string_view>> http_exchange::read() {
    struct first_part final : part_taker {
        bool take(const transport_result<std::string_view>& given) override {
            part = given;
            return false;
        }
        transport_result<std::string_view> part;
    };
    first_part first;
    co_await read_parts(first);
    co_return std::move(first.part);
}

asio::awaitable<void> http_exchange::read_parts(part_taker& to) {
    stopped_ = cancelled(co_await asio::this_coro::cancellation_state);
    begin_idle();
    bool goes_on = pass_parts(to);
    if (goes_on && cancelled(co_await asio::this_coro::cancellation_state)) { // By take().
        stopped_ = true;
        goes_on = pass_parts(to);
    }
    if (goes_on) {
        auto waiting = [this, &to](auto caller) {
            body_wait<decltype(caller)>(*this, to, std::move(caller)).start();
        };
        co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
            waiting, asio::use_awaitable
        );
    }
}

/// Passes on what is there. Returns true if more must arrive first, after begin_wait().
bool http_exchange::pass_parts(part_taker& to) {
    for (;;) {
        const std::string_view body =
            std::exchange(readable_, false) ? read_shared() : take_buffered();
        if (!body.empty()) {
            if (!to.take(body)) {
                return false;
            }
            begin_idle();
        } else if (failure_) {
            (void)to.take(*failure_);
            return false;
        } else if (ended_) {
            (void)to.take(std::string_view());
            return false;
        } else if (stopped_) {
            (void)give_up(cancelled_before);
        } else if (begin_wait()) {
            return true;
        } else {
            (void)give_up(line_too_long);
        }
    }
}

/// Sets the deadline. A TLS stream needs room, and gets false if a line does not fit; a plain one
/// needs no more than its unused bytes.
[[gnu::noinline]] bool http_exchange::begin_wait() {
    if (!connection_->plain()) {
        return begin_read();
    }
    if (buffer_.size() != end_ - begin_) { // It has held the header.
        keep({buffer_.data() + begin_, end_ - begin_});
    }
    arm_read();
    return true;
}

/// Takes the result of a wait, and what it brought. Returns as pass_parts().
bool http_exchange::end_wait(const http_connection::io_result& outcome, part_taker& to) {
    if (connection_->plain() && !std::get<0>(outcome) && !stopped_ && !timed_out_) {
        readable_ = true;
    } else if (const auto failed = end_read(outcome, stopped_)) {
        (void)give_up(*failed);
    }
    return pass_parts(to);
}

/// The caller was cancelled. Closes the connection, because TLS may be between two reads that make
/// up one of ours, and would start the next.
void http_exchange::stop_wait() noexcept {
    stopped_ = true;
    if (connection_) {
        connection_->close();
    }
}

/// Decodes what is in the buffer. Returns an empty view if that holds no part of the body.
[[gnu::noinline]] std::string_view http_exchange::take_buffered() {
    // The parser has made what it could of the earlier bytes, and needs more.
    if (failure_ || ended_ || begin_ == end_ || !std::exchange(undecoded_, false)) {
        return {};
    }
    const auto step = reader_.read_body({buffer_.data() + begin_, end_ - begin_});
    if (step.failed) {
        (void)give_up({.what = transport_failure::kind::protocol, .detail = reader_.error()});
        return {};
    }
    begin_ += step.consumed;
    if (reader_.done()) {
        complete();
    }
    return step.body;
}

/// Reads and decodes the available bytes, once for each wait: a server that sends without a pause
/// must not delay the other streams of this thread. Returns an empty view if they hold no part of
/// the body, or after giving up.
[[gnu::noinline]] std::string_view http_exchange::read_shared() {
    const std::span<char> shared = shared_buffer();
    const std::size_t kept = end_ - begin_;
    if (kept >= shared.size()) {
        (void)give_up(line_too_long);
        return {};
    }
    std::memcpy(shared.data(), buffer_.data() + begin_, kept);
    const auto outcome =
        connection_->receive(asio::buffer(shared.data() + kept, shared.size() - kept));
    const auto& [ec, received] = outcome;
    if (ec == asio::error::would_block) {
        return {};
    }
    if (const auto failed = end_read(outcome, false)) {
        (void)give_up(*failed);
    }
    if (failure_ || ended_) {
        return {};
    }
    undecoded_ = false;
    const auto step = reader_.read_body(shared.first(kept + received));
    if (step.failed) {
        (void)give_up({.what = transport_failure::kind::protocol, .detail = reader_.error()});
        return {};
    }
    keep(shared.first(kept + received).subspan(step.consumed));
    if (reader_.done()) {
        complete();
    }
    return step.body;
}

/// Keeps the bytes that a plain stream has not used, in a buffer no larger than they need.
void http_exchange::keep(std::span<const char> rest) {
    std::string(rest.begin(), rest.end()).swap(buffer_); // Assignment would keep the capacity.
    begin_ = 0;
    end_ = rest.size();
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
