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
        if (of.waits_for_line()) {
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
        if (const std::string_view body = take_buffered(); !body.empty()) {
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
        } else if (connection_->plain() && std::exchange(burst_, false)) {
            // Only once, then it waits like other streams: a server that sends without a pause must
            // not delay the other streams of this thread.
            if (const std::string_view more = read_shared(); !more.empty()) {
                if (!to.take(more)) {
                    return false;
                }
                begin_idle();
            }
        } else if (begin_wait()) {
            return true;
        } else {
            (void)give_up(line_too_long);
        }
    }
}

/// True if a chunk-size line has filled the small buffer. The wait is then for readiness alone.
bool http_exchange::waits_for_line() const noexcept {
    return connection_->plain() && end_ - begin_ >= waiting_bytes;
}

/// Makes room and sets the deadline. Returns false if a line of a TLS stream does not fit.
[[gnu::noinline]] bool http_exchange::begin_wait() {
    if (!connection_->plain()) {
        return begin_read();
    }
    if (!waits_for_line()) {
        make_waiting_room();
    }
    arm_read();
    return true;
}

/// Takes the result of a wait, and what it brought. Returns as pass_parts().
bool http_exchange::end_wait(const http_connection::io_result& outcome, part_taker& to) {
    const bool for_line = waits_for_line();
    if (const auto failed = end_read(outcome, stopped_)) {
        (void)give_up(*failed);
    } else {
        burst_ = for_line || end_ == buffer_.size();
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
    return step.body;
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
