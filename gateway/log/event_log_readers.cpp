#include "gateway/log/event_log.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {

using translator::projection;

namespace {

// The limit of a joined event, so that a slow reader gets whole events before it is cut off.
constexpr std::size_t joined_bytes = 4096;

// How many readers are resumed before other work runs.
constexpr std::size_t resumed_at_once = 32;

} // namespace

void event_log::make_visible(std::uint64_t sequence, stored is_stored) {
    resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        if (is_stored == stored::yes && sequence > durable_) {
            durable_ = sequence;
            wake_writer();
        }
        if (sequence <= visible_ || ended_ || frozen_) {
            return;
        }
        visible_ = sequence;
        take_waiters(ready);
    }
    resume(ready);
}

void event_log::take_waiters(resumptions& ready) {
    for (waiter* waiting : waiters_) {
        ready.push_back(std::move(waiting->resumption_));
    }
    waiters_.clear();
}

// Each reader continues on its own executor: at once if this thread is running that executor. Only
// a few continue at once, because other runs wait meanwhile.
void event_log::resume(resumptions& ready) {
    std::size_t at_once = resumed_at_once;
    for (resumption& reader : ready) {
        if (at_once > 0) {
            --at_once;
            std::move(reader).dispatch();
        } else {
            std::move(reader).post();
        }
    }
}

// Returns null if the event is the same for the cursor's projection as for the newest.
const std::optional<std::string>*
event_log::older_form(const cursor& at, std::uint64_t sequence) const {
    if (at.projection == projection::v1_1) {
        return nullptr;
    }
    const auto found = std::ranges::lower_bound(variants_, sequence, {}, &variant_entry::sequence);
    if (found == variants_.end() || found->sequence != sequence) {
        return nullptr;
    }
    const auto& json = at.projection == projection::v1_0 ? found->v1_0 : found->undeclared;
    return json ? &json : nullptr;
}

// A run's own calls have results only after other events.
bool event_log::is_earlier_result(std::uint64_t sequence) const {
    std::string event;
    events_.write(sequence, event);
    return event.starts_with(R"({"type":"TOOL_CALL_RESULT")");
}

bool event_log::is_elsewhere() const noexcept {
    return next_ || (!ended_ && held_ && held_->is_lost());
}

std::shared_ptr<event_log> event_log::continuation() const {
    const std::lock_guard lock(mutex_);
    return next_;
}

bool event_log::read(cursor& at, const stream_form& form, std::size_t max_bytes, std::string& out) {
    const std::size_t most = out.size() + max_bytes;
    const std::lock_guard lock(mutex_);
    if (is_elsewhere()) {
        return false;
    }
    while (at.after < visible_ && out.size() < most) {
        const std::uint64_t sequence = at.after + 1;
        at.after = sequence;
        if (at.knows_earlier_results && sequence > 1) {
            at.knows_earlier_results = is_earlier_result(sequence);
            if (at.knows_earlier_results) {
                continue;
            }
        }
        const auto* other = older_form(at, sequence);
        if (other != nullptr && (*other)->empty()) {
            continue;
        }
        const bool joins = other == nullptr && events_.joins(sequence);
        if (joins) {
            const std::size_t text = std::min(joined_bytes, most - out.size());
            const bool splits = sequence <= at.split_at && at.split_at < visible_;
            at.after = events_.last_joined(sequence, splits ? at.split_at : visible_, text);
        }
        form.begin_event(at.after, out);
        const std::size_t json_at = out.size();
        if (other != nullptr) {
            out.append(**other);
        } else if (joins) {
            events_.write_joined(sequence, at.after, out);
        } else {
            events_.write(sequence, out);
        }
        form.end_event(json_at, out);
    }
    const bool all_read = at.after >= visible_;
    if (ended_ && all_read) {
        for (; at.tail_read < tail_.size(); ++at.tail_read) {
            form.begin_event(0, out);
            const std::size_t json_at = out.size();
            out.append(tail_[at.tail_read]);
            form.end_event(json_at, out);
        }
    }
    return ended_ && all_read && !cuts_off_;
}

bool event_log::cuts_readers_off() const {
    const std::lock_guard lock(mutex_);
    return cuts_off_;
}

void event_log::read_entries(cursor& at, std::size_t max_bytes, stored_entries& out) {
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
    std::uint64_t last = at.after;
    for (std::size_t bytes = 0; last < visible_ && bytes < max_bytes; ++last) {
        bytes += events_.bytes_between(last, last + 1, false, 0);
    }
    write_entries(at.after + 1, last, out.slice);
    at.after = last;
    if (ended_ && last >= visible_) {
        out.unnumbered = tail_;
        out.ended = true;
    }
}

std::size_t event_log::backlog_bytes(const cursor& at, const stream_form& form) const {
    const std::lock_guard lock(mutex_);
    if (at.after >= visible_ || events_.size() == 0) {
        return 0;
    }
    return events_.bytes_between(at.after, visible_, joins_deltas_, form.bytes_around());
}

boost::asio::awaitable<void> event_log::wait(const cursor& at, waiter& who) {
    // Not a coroutine, which would cost a frame for every token.
    return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        [this, self = shared_from_this(), &at, &who](auto handler) {
            const std::lock_guard lock(mutex_);
            resumption here(who.executor(), std::move(handler));
            if (ended_ || (at.after < visible_ && !is_elsewhere())) {
                std::move(here).post();
                return;
            }
            who.resumption_ = std::move(here);
            waiters_.push_back(&who);
        },
        boost::asio::use_awaitable
    );
}

void event_log::wake(waiter& who) {
    resumption waiting;
    {
        const std::lock_guard lock(mutex_);
        const auto found = std::find(waiters_.begin(), waiters_.end(), &who);
        if (found == waiters_.end()) {
            return;
        }
        waiters_.erase(found);
        waiting = std::move(who.resumption_);
    }
    std::move(waiting).post();
}

event_log::reader_token::reader_token(std::shared_ptr<event_log> log) : log_(std::move(log)) {
    const std::lock_guard lock(log_->mutex_);
    log_->add_reader();
}

event_log::reader_token::~reader_token() {
    const std::lock_guard lock(log_->mutex_);
    log_->remove_reader(how_);
}

void event_log::add_reader() {
    ++readers_;
    tell_readers(leaving::left);
}

void event_log::remove_reader(leaving how) {
    --readers_;
    tell_readers(how);
    if (readers_ == 0 && !ended_ && on_last_reader_left_) {
        boost::asio::post(executor_, [told = on_last_reader_left_, how] { told(how); });
    }
}

void event_log::tell_readers(leaving how) {
    if (on_readers_) {
        boost::asio::post(executor_, [told = on_readers_, count = readers_, how] {
            told(count, how);
        });
    }
}

void event_log::set_readers_handler(std::function<void(std::size_t, leaving)> handler) {
    const std::lock_guard lock(mutex_);
    on_readers_ = std::move(handler);
}

void event_log::set_last_reader_handler(std::function<void(leaving)> handler) {
    const std::lock_guard lock(mutex_);
    on_last_reader_left_ = std::move(handler);
}

std::size_t event_log::reader_count() const {
    const std::lock_guard lock(mutex_);
    return readers_;
}

std::uint64_t event_log::visible_sequence() const {
    const std::lock_guard lock(mutex_);
    return visible_;
}

bool event_log::ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
}

} // namespace agui::gateway
