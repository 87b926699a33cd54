#include "gateway/log/event_log.hpp"

#include "gateway/log/log_turn.hpp"
#include "session/base/failpoint.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <span>
#include <utility>

namespace agui::gateway {

namespace {

// Limit of appended but unstored bytes of one log: about 2000 tokens. A run that produces faster
// than the disk writes must wait long before it fills the store's queue.
constexpr std::size_t unstored_bytes_max = 256U << 10U;

// The values that the writer reads without a lock say nothing about other memory.
constexpr auto relaxed = std::memory_order_relaxed;

} // namespace

event_log::event_log(boost::asio::any_io_executor executor, settings options)
    : executor_(std::move(executor)),
      settings_(options),
      written_{
          .events = run_events({options.budget, options.copies, options.join_deltas}),
          .run_number = options.run_number
      },
      readers_(executor_) {}

void event_log::set_run(std::int64_t number, session::lease_ptr held) noexcept {
    const std::lock_guard lock(mutex_);
    written_.run_number = number;
    written_.held = std::move(held);
    writing_.held_back = false;
}

void event_log::on_event(const translator::wire_event& event) {
    if (event.terminal && writing_.batch_waits) {
        flush(); // What came before the end does not wait for the commit of the end.
    }
    verifier_.check(event);
    {
        const std::lock_guard lock(mutex_);
        written_.events.append(event);
    }
    writing_.has_terminal = writing_.has_terminal || event.terminal;
    if (!writing_.has_terminal && !writing_.in_batch) {
        schedule_flush();
    }
}

void event_log::begin_batch() {
    writing_.in_batch = true;
    if (log_turn* const turn = log_turn::of_this_thread()) {
        turn->begin_batch();
    }
}

void event_log::end_batch() {
    writing_.in_batch = false;
    log_turn* const turn = log_turn::of_this_thread();
    if (writing_.staged_from <= own().events.size()) {
        if (turn != nullptr && turn->is_busy() && !takes_no_more()) {
            schedule_flush();
            writing_.batch_waits = true;
        } else {
            flush();
        }
    }
    if (turn != nullptr) {
        turn->end_batch();
    }
}

void event_log::schedule_flush() {
    if (writing_.flush_scheduled) {
        return;
    }
    if (log_turn* const turn = log_turn::of_this_thread()) {
        turn->add(shared_from_this());
    } else {
        boost::asio::post(executor_, [self = shared_from_this()] {
            self->writing_.flush_scheduled = false;
            self->flush();
        });
    }
    writing_.flush_scheduled = true;
}

// The terminal's commit makes everything visible.
bool event_log::takes_no_more() const noexcept { return writing_.has_terminal || own().end; }

void event_log::flush() {
    const std::shared_ptr<event_log> self = shared_from_this();
    log_turn::publish(std::span(&self, 1));
}

bool event_log::is_stored() const noexcept {
    return settings_.store != nullptr && !writing_.held_back;
}

// Fills the empty `slice` with the entries that the store gets next. Returns false if it gets none.
bool event_log::stage(session::log_slice& slice) noexcept {
    writing_.batch_waits = false;
    // The store loses entries that it is given just after it has failed, like the earlier ones.
    if (!is_stored() || takes_no_more() || failed_.load(relaxed) ||
        writing_.staged_from > own().events.size()) {
        return false;
    }
    pass_failpoint("log.flush");
    try {
        write_staged(slice);
        return true;
    } catch (const std::exception&) {
        slice = {};
        on_failed(); // Without memory for them, entries are lost as if the store had failed.
        return false;
    }
}

// Shows what need not be durable, once the store has the entries of stage(), if there are any.
void event_log::show_unstored(const session::log_slice& staged) noexcept {
    if (!is_stored() && !takes_no_more()) {
        const std::uint64_t last = own().events.size();
        if (!writing_.held_back) {
            writing_.staged_from = last + 1;
        }
        make_visible(last, stored::no);
    } else if (settings_.visible_before_durable && !staged.ends.empty()) {
        make_visible(staged.first_sequence + staged.ends.size() - 1, stored::no);
    }
}

session::log_slice event_log::take_staged() {
    session::log_slice slice;
    write_staged(slice);
    return slice;
}

// `slice` is empty.
void event_log::write_staged(session::log_slice& slice) {
    const run_events& events = own().events;
    const std::uint64_t first = writing_.staged_from;
    events.write_entries(first, events.size(), slice);
    slice.run_number = own().run_number;
    // The first delta of a message does not wait, so that the time to the first token does not
    // grow.
    slice.may_wait = first > 1 && events.are_deltas(first - 1, events.size());
    writing_.staged_from = events.size() + 1;
}

void event_log::make_visible(std::uint64_t sequence, stored is_stored) {
    log_readers::resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        if (is_stored == stored::yes && sequence > durable_.load(relaxed)) {
            durable_.store(sequence, relaxed);
            wake_writer();
        }
        if (sequence <= visible_ || written_.end || frozen_) {
            return;
        }
        visible_ = sequence;
        readers_.take_all(ready);
    }
    log_readers::resume(ready);
}

void event_log::end(ending how, std::vector<std::string> unnumbered) {
    log_readers::resumptions ready;
    // The handlers are never called again. They may keep the memory of a run, so they do not stay
    // as long as the log, and they are destroyed without the lock.
    std::function<void()> on_failure;
    std::function<void(leaving)> on_last_left;
    {
        const std::lock_guard lock(mutex_);
        if (written_.end) {
            return;
        }
        if (how.is_stored) {
            visible_ = written_.events.size();
            written_.held.reset(); // A committed run cannot be lost.
        }
        written_.events.end_with(std::move(unnumbered));
        written_.events.release_copies();
        written_.end = std::move(how);
        readers_.take_all(ready);
        on_failure.swap(on_failure_);
        on_last_left = readers_.take_last_handler();
    }
    log_readers::resume(ready);
}

void event_log::publish_end() { end({.is_stored = true}); }

void event_log::end_without_store(std::vector<std::string> events) { end({}, std::move(events)); }

void event_log::continue_in(std::shared_ptr<event_log> next) { end({.next = std::move(next)}); }

void event_log::cut_off_readers() { end({.cuts_off = true}); }

std::vector<std::string> event_log::freeze() {
    std::vector<std::string> visible;
    log_readers::resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        frozen_ = true;
        for (std::uint64_t sequence = 1; sequence <= visible_; ++sequence) {
            written_.events.write(sequence, visible.emplace_back());
        }
        if (is_elsewhere()) {
            // Readers in other gateways need not wait here for the store.
            readers_.take_all(ready);
        }
    }
    log_readers::resume(ready);
    return visible;
}

void event_log::hand_back() {
    const std::lock_guard lock(mutex_);
    handed_back_ = true; // The end of the log wakes them.
}

bool event_log::outgrown(std::size_t most) const noexcept {
    return own().events.over_budget() || own().events.bytes() > most;
}

// `seen` is written_ as the caller may read it: own(), or with mutex_ held.
std::size_t event_log::unstored_bytes(const written& seen) const noexcept {
    const std::uint64_t durable = durable_.load(relaxed);
    const std::uint64_t last = seen.events.size();
    if (settings_.store == nullptr || seen.end || failed_.load(relaxed) || durable >= last) {
        return 0;
    }
    return seen.events.bytes_between(durable, last);
}

// Only the executor appends, and durable_ only grows: without a lock, some room may just have come
// where the answer is that there is none, and room() looks again.
bool event_log::has_room() const noexcept { return unstored_bytes(own()) <= unstored_bytes_max; }

boost::asio::awaitable<void> event_log::room() {
    const auto self = shared_from_this();
    boost::asio::steady_timer waiting(executor_, boost::asio::steady_timer::time_point::max());
    const auto forget = [this](boost::asio::steady_timer*) {
        writing_.pause = nullptr;
        const std::lock_guard lock(mutex_);
        writer_waits_ = false;
    };
    const std::unique_ptr<boost::asio::steady_timer, decltype(forget)> known(&waiting, forget);
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (unstored_bytes(written_) <= unstored_bytes_max / 2) {
                co_return;
            }
            writer_waits_ = true;
        }
        writing_.pause = &waiting;
        pass_failpoint("log.full");
        boost::system::error_code woken;
        co_await waiting.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    }
}

// The timer is cancelled on the executor, so that room() cannot miss it.
void event_log::wake_writer() {
    if (writer_waits_ && unstored_bytes(written_) <= unstored_bytes_max / 2) {
        writer_waits_ = false;
        boost::asio::post(executor_, [self = shared_from_this()] {
            if (self->writing_.pause != nullptr) {
                self->writing_.pause->cancel();
            }
        });
    }
}

void event_log::set_failure_handler(std::function<void()> handler) {
    const std::lock_guard lock(mutex_);
    if (!written_.end) {
        on_failure_ = std::move(handler);
    }
}

void event_log::on_durable(std::uint64_t sequence) noexcept {
    pass_failpoint("log.durable");
    make_visible(sequence, stored::yes);
}

void event_log::on_failed() noexcept {
    std::function<void()> handler;
    {
        const std::lock_guard lock(mutex_);
        if (failed_.load(relaxed) || written_.end) {
            return;
        }
        failed_.store(true, relaxed);
        wake_writer();
        handler = on_failure_;
    }
    if (handler) {
        handler();
    }
}

} // namespace agui::gateway
