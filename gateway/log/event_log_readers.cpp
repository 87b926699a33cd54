#include "gateway/log/event_log.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace agui::gateway {

bool event_log::is_elsewhere() const noexcept {
    if (written_.end) {
        return written_.end->next != nullptr;
    }
    return written_.held && written_.held->is_lost();
}

event_log::rest event_log::read(
    cursor& at, const stream_form& form, std::size_t max_bytes, std::string& out
) const {
    const std::size_t before = out.size();
    const std::lock_guard lock(mutex_);
    const std::optional<ending>& end = written_.end;
    if (is_elsewhere()) {
        return {.next = end ? end->next : nullptr};
    }
    written_.events.read(at, form, visible_, max_bytes, out);
    if (!end || at.after < visible_) {
        return {.caught_up = at.after >= visible_};
    }
    return {.ended = !end->cuts_off, .cut_off = end->cuts_off && out.size() == before};
}

void event_log::read_entries(cursor& at, std::size_t max_bytes, stored_entries& out) const {
    out.slice.events.clear();
    out.slice.ends.clear();
    out.slice.variants.clear();
    out.unnumbered.clear();
    out.ended = false;
    const std::lock_guard lock(mutex_);
    out.is_elsewhere = is_elsewhere() || handed_back_;
    if (out.is_elsewhere) {
        return;
    }
    written_.events.read_entries(at, visible_, max_bytes, out.slice);
    out.slice.run_number = written_.run_number;
    if (written_.end && at.after >= visible_) {
        out.unnumbered = written_.events.unnumbered();
        out.ended = true;
    }
}

std::size_t event_log::backlog_bytes(const cursor& at, const stream_form& form) const {
    const std::lock_guard lock(mutex_);
    return written_.events.backlog_bytes(at, form, visible_);
}

boost::asio::awaitable<void> event_log::wait(const cursor& at, waiter& who) {
    // Not a coroutine, which would cost one more frame.
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        [self = shared_from_this(), &at, &who](auto handler) mutable {
            // A reader may go on in another log while this wait lasts.
            const std::shared_ptr<event_log> log = std::move(self);
            resumption here = who.resumption_of(std::move(handler));
            if (!log->wait_again(at, who, here)) {
                std::move(here).post();
            }
        },
        boost::asio::use_awaitable
    );
}

bool event_log::wait_again(const cursor& at, waiter& who, resumption& here) {
    const std::lock_guard lock(mutex_);
    if (written_.end || (at.after < visible_ && !is_elsewhere())) {
        return false;
    }
    readers_.wait(who, std::move(here));
    return true;
}

void event_log::wake(waiter& who) {
    std::optional<resumption> waiting;
    {
        const std::lock_guard lock(mutex_);
        waiting = readers_.take(who);
    }
    if (waiting) {
        std::move(*waiting).post();
    }
}

event_log::reader_token::reader_token(std::shared_ptr<event_log> log) : log_(std::move(log)) {
    const std::lock_guard lock(log_->mutex_);
    log_->readers_.add();
}

event_log::reader_token::~reader_token() {
    const std::lock_guard lock(log_->mutex_);
    log_->readers_.remove(how_);
}

void event_log::set_readers_handler(std::function<void(std::size_t, leaving)> handler) {
    const std::lock_guard lock(mutex_);
    readers_.set_handler(std::move(handler));
}

void event_log::set_last_reader_handler(std::function<void(leaving)> handler) {
    const std::lock_guard lock(mutex_);
    if (!written_.end) {
        readers_.set_last_handler(std::move(handler));
    }
}

std::size_t event_log::reader_count() const {
    const std::lock_guard lock(mutex_);
    return readers_.count();
}

std::uint64_t event_log::last_sequence() const {
    const std::lock_guard lock(mutex_);
    return written_.events.size();
}

std::uint64_t event_log::visible_sequence() const {
    const std::lock_guard lock(mutex_);
    return visible_;
}

std::string event_log::event(std::uint64_t sequence) const {
    std::string json;
    const std::lock_guard lock(mutex_);
    if (sequence > 0 && sequence <= written_.events.size()) {
        written_.events.write(sequence, json);
    }
    return json;
}

std::size_t event_log::bytes() const {
    const std::lock_guard lock(mutex_);
    return written_.events.bytes();
}

bool event_log::ended() const {
    const std::lock_guard lock(mutex_);
    return written_.end.has_value();
}

bool event_log::cuts_readers_off() const {
    const std::lock_guard lock(mutex_);
    return written_.end && written_.end->cuts_off;
}

} // namespace agui::gateway
