#include "gateway/log/event_log.hpp"

#include "session/base/failpoint.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {

namespace {

// Memory that each thread of execution keeps for its next slice.
constexpr std::size_t reused_slice_bytes = 4096;

// The largest log that may use the memory reserve, so that large logs run out of memory before
// small ones.
constexpr std::size_t small_log_bytes = 64U << 10U;
// The budget is changed in steps of this size.
constexpr std::size_t counted_bytes = 4096;

// Limit of appended but unstored bytes of one log: about 2000 tokens. A run that produces faster
// than the disk writes must wait long before it fills the store's queue.
constexpr std::size_t unstored_bytes_max = 256U << 10U;

} // namespace

event_log::event_log(boost::asio::any_io_executor executor, settings options)
    : executor_(std::move(executor)),
      settings_(options),
      share_(options.budget, memory_use::small, counted_bytes) {}

void event_log::on_event(const translator::wire_event& event) {
    verifier_.check(event);
    const std::lock_guard lock(mutex_);
    append_event(event.json);
    if (event.v1_0 || event.undeclared) {
        variant_entry variant{events_.size(), std::nullopt, std::nullopt};
        if (event.v1_0) {
            variant.v1_0 = *event.v1_0;
        }
        if (event.undeclared) {
            variant.undeclared = *event.undeclared;
        }
        count(
            sizeof(variant_entry) + (event.v1_0 ? event.v1_0->size() : 0) +
            (event.undeclared ? event.undeclared->size() : 0)
        );
        variants_.push_back(std::move(variant));
    }
    terminal_staged_ = terminal_staged_ || event.terminal;
    if (!terminal_staged_ && !in_batch_) {
        schedule_flush();
    }
}

void event_log::set_run(std::int64_t number, session::lease_ptr held) noexcept {
    const std::lock_guard lock(mutex_);
    settings_.run_number = number;
    held_ = std::move(held);
    held_back_ = false;
}

void event_log::begin_batch() {
    const std::lock_guard lock(mutex_);
    in_batch_ = true;
}

void event_log::end_batch() {
    {
        const std::lock_guard lock(mutex_);
        in_batch_ = false;
        if (staged_from_ > events_.size()) {
            return;
        }
    }
    flush();
}

// Called only when memory was allocated, which most events do not need.
void event_log::count(std::size_t bytes) {
    held_bytes_ += bytes;
    if (held_bytes_ > small_log_bytes) {
        share_.set_use(memory_use::ordinary);
    }
    const std::size_t wanted = held_bytes_ * settings_.copies;
    if (!share_.grow_to(wanted)) {
        share_.grow_anyway_to(wanted);
        over_budget_ = true;
    }
}

void event_log::append_event(std::string_view json) {
    if (const std::size_t taken = events_.append(json); taken > 0) {
        count(taken);
    }
}

void event_log::schedule_flush() {
    if (!flush_scheduled_) {
        flush_scheduled_ = true;
        boost::asio::post(executor_, [self = shared_from_this()] { self->flush(); });
    }
}

void event_log::flush() {
    if (settings_.store == nullptr || held_back_) {
        resumptions ready;
        {
            const std::lock_guard lock(mutex_);
            flush_scheduled_ = false;
            if (terminal_staged_ || ended_) {
                return; // The terminal's commit makes everything visible.
            }
            if (!held_back_) {
                staged_from_ = events_.size() + 1;
            }
            visible_ = events_.size();
            take_waiters(ready);
        }
        resume(ready);
        return;
    }
    pass_failpoint("log.flush");
    // Shared by all logs of this thread: most slices are one token, for which nothing is allocated.
    static thread_local session::log_slice reused;
    session::log_slice slice = std::exchange(reused, {});
    {
        const std::lock_guard lock(mutex_);
        flush_scheduled_ = false;
        if (!terminal_staged_ && !ended_ && !failed_) {
            write_staged(slice);
        }
    }
    if (slice.ends.empty()) {
        return;
    }
    const std::uint64_t last = slice.first_sequence + slice.ends.size() - 1;
    settings_.store->append_log(slice, shared_from_this(), held_);
    if (slice.events.capacity() <= reused_slice_bytes) {
        slice.events.clear();
        slice.ends.clear();
        slice.variants.clear();
        reused = std::move(slice);
    }
    if (settings_.visible_before_durable) {
        make_visible(last, stored::no);
    }
}

session::log_slice event_log::take_staged() {
    session::log_slice slice;
    const std::lock_guard lock(mutex_);
    write_staged(slice);
    return slice;
}

std::string event_log::write_variants(
    const std::optional<std::string>& v1_0, const std::optional<std::string>& undeclared
) {
    boost::json::object both;
    if (v1_0) {
        both["1.0"] = *v1_0;
    }
    if (undeclared) {
        both["undeclared"] = *undeclared;
    }
    return boost::json::serialize(both);
}

// `slice` is empty.
void event_log::write_staged(session::log_slice& slice) {
    write_entries(staged_from_, events_.size(), slice);
    // The first delta of a message does not wait, so that the time to the first token does not
    // grow.
    slice.may_wait = staged_from_ > 1;
    for (std::uint64_t sequence = staged_from_ - 1; sequence <= events_.size(); ++sequence) {
        slice.may_wait = slice.may_wait && events_.is_delta(sequence);
    }
    staged_from_ = events_.size() + 1;
}

// `slice` is empty.
void event_log::write_entries(std::uint64_t first, std::uint64_t last, session::log_slice& slice)
    const {
    slice.run_number = settings_.run_number;
    slice.first_sequence = first;
    for (std::uint64_t sequence = first; sequence <= last; ++sequence) {
        events_.write(sequence, slice.events);
        slice.ends.push_back(static_cast<std::uint32_t>(slice.events.size()));
    }
    auto variant = std::ranges::lower_bound(variants_, first, {}, &variant_entry::sequence);
    for (; variant != variants_.end() && variant->sequence <= last; ++variant) {
        slice.variants.emplace_back(
            static_cast<std::uint32_t>(variant->sequence - first),
            write_variants(variant->v1_0, variant->undeclared)
        );
    }
}

void event_log::end(ending how) {
    resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        if (ended_) {
            return;
        }
        if (how.is_stored) {
            visible_ = events_.size();
            held_.reset(); // A committed run cannot be lost.
        }
        tail_ = std::move(how.unnumbered);
        next_ = std::move(how.next);
        cuts_off_ = how.cuts_off;
        ended_ = true;
        share_.shrink_to(held_bytes_);
        take_waiters(ready);
    }
    resume(ready);
}

void event_log::publish_end() { end({.is_stored = true}); }

void event_log::end_without_store(std::vector<std::string> events) {
    end({.unnumbered = std::move(events)});
}

void event_log::continue_in(std::shared_ptr<event_log> next) { end({.next = std::move(next)}); }

void event_log::cut_off_readers() { end({.cuts_off = true}); }

std::vector<std::string> event_log::freeze() {
    std::vector<std::string> visible;
    resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        frozen_ = true;
        for (std::uint64_t sequence = 1; sequence <= visible_; ++sequence) {
            events_.write(sequence, visible.emplace_back());
        }
        if (is_elsewhere()) {
            take_waiters(ready); // Readers in other gateways need not wait here for the store.
        }
    }
    resume(ready);
    return visible;
}

void event_log::hand_back() {
    const std::lock_guard lock(mutex_);
    handed_back_ = true; // The end of the log wakes them.
}

std::string event_log::event(std::uint64_t sequence) const {
    std::string json;
    const std::lock_guard lock(mutex_);
    if (sequence > 0 && sequence <= events_.size()) {
        events_.write(sequence, json);
    }
    return json;
}

std::uint64_t event_log::last_sequence() const {
    const std::lock_guard lock(mutex_);
    return events_.size();
}

std::size_t event_log::bytes() const {
    const std::lock_guard lock(mutex_);
    return events_.bytes();
}

bool event_log::outgrown(std::size_t most) const {
    const std::lock_guard lock(mutex_);
    return over_budget_ || events_.bytes() > most;
}

std::size_t event_log::unstored_bytes() const noexcept {
    if (settings_.store == nullptr || ended_ || failed_ || durable_ >= events_.size()) {
        return 0;
    }
    return events_.bytes_between(durable_, events_.size(), false, 0);
}

bool event_log::has_room() const noexcept {
    const std::lock_guard lock(mutex_);
    return unstored_bytes() <= unstored_bytes_max;
}

boost::asio::awaitable<void> event_log::room() {
    const auto self = shared_from_this();
    boost::asio::steady_timer waiting(executor_, boost::asio::steady_timer::time_point::max());
    const auto forget = [this](boost::asio::steady_timer*) {
        writer_ = nullptr;
        const std::lock_guard lock(mutex_);
        writer_waits_ = false;
    };
    const std::unique_ptr<boost::asio::steady_timer, decltype(forget)> known(&waiting, forget);
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            if (unstored_bytes() <= unstored_bytes_max / 2) {
                co_return;
            }
            writer_waits_ = true;
        }
        writer_ = &waiting;
        pass_failpoint("log.full");
        boost::system::error_code woken;
        co_await waiting.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
    }
}

// The timer is cancelled on the executor, so that room() cannot miss it.
void event_log::wake_writer() {
    if (writer_waits_ && unstored_bytes() <= unstored_bytes_max / 2) {
        writer_waits_ = false;
        boost::asio::post(executor_, [self = shared_from_this()] {
            if (self->writer_ != nullptr) {
                self->writer_->cancel();
            }
        });
    }
}

void event_log::set_failure_handler(std::function<void()> handler) {
    const std::lock_guard lock(mutex_);
    on_failure_ = std::move(handler);
}

void event_log::on_durable(std::uint64_t sequence) noexcept {
    pass_failpoint("log.durable");
    make_visible(sequence, stored::yes);
}

void event_log::on_failed() noexcept {
    std::function<void()> handler;
    {
        const std::lock_guard lock(mutex_);
        if (failed_ || ended_) {
            return;
        }
        failed_ = true;
        wake_writer();
        handler = on_failure_;
    }
    if (handler) {
        handler();
    }
}

} // namespace agui::gateway
