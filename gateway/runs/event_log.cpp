#include "gateway/runs/event_log.hpp"

#include "session/base/failpoint.hpp"
#include "translator/verifier/verifier.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace agui::gateway {

namespace {

using translator::projection;

// Of one event: a slow reader has something whole before it is cut off.
constexpr std::size_t joined_bytes = 4096;

// What a thread keeps for its next slice.
constexpr std::size_t reused_slice_bytes = 4096;

// Of a log that takes memory from the reserve: a large one ends before all small ones do.
constexpr std::size_t small_log_bytes = 64 * 1024;
// Of the budget, at a time.
constexpr std::size_t counted_bytes = 4096;

// Of one log, appended and not stored: a run that produces faster than the disk writes waits for it
// long before its entries fill the store's queue. A token a millisecond is 4 s of it.
constexpr std::size_t unstored_bytes_max = 256 * 1024;

// Readers that go on before anything else does.
constexpr std::size_t resumed_at_once = 32;

// Stores up to schema 5 hold the forms of older projections as server-sent events.
std::string_view json_of(std::string_view stored) {
    constexpr std::string_view data = "\ndata: ";
    constexpr std::string_view end = "\n\n";
    if (!stored.starts_with("id: ") || !stored.ends_with(end)) {
        return stored;
    }
    const std::size_t begin = stored.find(data) + data.size();
    return stored.substr(begin, stored.size() - begin - end.size());
}

} // namespace

event_log::event_log(boost::asio::any_io_executor executor, settings options)
    : executor_(std::move(executor)),
      settings_(options),
      share_(options.budget, memory_use::small, counted_bytes) {
#ifdef AGUI_VERIFY_EVENTS
    verifier_ = std::make_unique<translator::event_verifier>();
    undeclared_verifier_ = std::make_unique<translator::event_verifier>();
#endif
}

event_log::~event_log() = default;

std::shared_ptr<event_log> event_log::restored(
    boost::asio::any_io_executor executor, const std::vector<session::log_entry>& entries,
    bool join_deltas
) {
    auto log = begin_restored(std::move(executor), nullptr, join_deltas);
    log->restore(entries);
    log->end_restored();
    return log;
}

std::shared_ptr<event_log> event_log::begin_restored(
    boost::asio::any_io_executor executor, memory_budget* budget, bool join_deltas
) {
    settings options;
    options.budget = budget;
    auto log = std::make_shared<event_log>(std::move(executor), options);
    log->joins_deltas_ = join_deltas;
    return log;
}

void event_log::restore(const std::vector<session::log_entry>& entries) {
    const std::lock_guard lock(mutex_);
    for (const session::log_entry& entry : entries) {
        append_event(entry.json);
        if (!entry.variants.empty()) {
            const boost::json::object both = boost::json::parse(entry.variants).as_object();
            variant_entry variant{entry.sequence, std::nullopt, std::nullopt};
            if (const auto* json = both.if_contains("1.0")) {
                variant.v1_0 = json_of(json->as_string());
            }
            if (const auto* json = both.if_contains("undeclared")) {
                variant.undeclared = json_of(json->as_string());
            }
            count(entry.variants.size());
            variants_.push_back(std::move(variant));
        } else if (joins_deltas_) {
            events_.let_last_join();
        }
    }
}

void event_log::end_restored() {
    const std::lock_guard lock(mutex_);
    visible_ = events_.size();
    ended_ = true;
}

std::shared_ptr<event_log>
event_log::empty_at(boost::asio::any_io_executor executor, std::uint64_t last_sequence) {
    auto log = std::make_shared<event_log>(std::move(executor), settings{});
    const std::lock_guard lock(log->mutex_);
    log->visible_ = last_sequence;
    log->ended_ = true;
    return log;
}

// A sequence that clients would reject is a bug of the translator; in debug builds nobody gets past
// it.
void event_log::verify(const translator::wire_event& event) {
    if (!verifier_) {
        return;
    }
    auto wrong = verifier_->check(event.json);
    const std::string_view older = event.undeclared.value_or(event.json);
    if (!wrong && !older.empty()) {
        wrong = undeclared_verifier_->check(older);
    }
    if (wrong) {
        std::fprintf(stderr, "event verifier: %s\n", wrong->c_str());
        std::abort();
    }
}

void event_log::on_event(const translator::wire_event& event) {
    verify(event);
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

// Called where memory is allocated, which is not for each event.
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
    if (settings_.store == nullptr) {
        resumptions ready;
        {
            const std::lock_guard lock(mutex_);
            flush_scheduled_ = false;
            if (terminal_staged_ || ended_) {
                return; // The terminal's commit makes everything visible.
            }
            staged_from_ = events_.size() + 1;
            visible_ = events_.size();
            take_waiters(ready);
        }
        resume(ready);
        return;
    }
    {
        const std::lock_guard lock(mutex_);
        flush_scheduled_ = false;
        if (terminal_staged_ || ended_ || failed_) {
            return;
        }
    }
    pass_failpoint("log.flush");
    // Of all logs of this thread: most slices are a token, and need not allocate.
    static thread_local session::log_slice reused;
    session::log_slice slice = std::exchange(reused, {});
    write_staged(slice);
    if (slice.ends.empty()) {
        return;
    }
    const std::uint64_t last = slice.first_sequence + slice.ends.size() - 1;
    settings_.store->append_log(slice, shared_from_this());
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
    const std::lock_guard lock(mutex_);
    slice.run_number = settings_.run_number;
    slice.first_sequence = staged_from_;
    for (std::uint64_t sequence = staged_from_; sequence <= events_.size(); ++sequence) {
        events_.write(sequence, slice.events);
        slice.ends.push_back(static_cast<std::uint32_t>(slice.events.size()));
    }
    for (const variant_entry& variant : variants_) {
        if (variant.sequence >= staged_from_) {
            slice.variants.emplace_back(
                static_cast<std::uint32_t>(variant.sequence - staged_from_),
                write_variants(variant.v1_0, variant.undeclared)
            );
        }
    }
    staged_from_ = events_.size() + 1;
}

void event_log::publish_end() {
    resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        visible_ = events_.size();
        ended_ = true;
        share_.shrink_to(held_bytes_);
        take_waiters(ready);
    }
    resume(ready);
}

std::vector<std::string> event_log::freeze() {
    std::vector<std::string> visible;
    const std::lock_guard lock(mutex_);
    frozen_ = true;
    for (std::uint64_t sequence = 1; sequence <= visible_; ++sequence) {
        events_.write(sequence, visible.emplace_back());
    }
    return visible;
}

void event_log::end_without_store(const std::vector<std::string>& events) {
    resumptions ready;
    {
        const std::lock_guard lock(mutex_);
        tail_ = events;
        ended_ = true;
        share_.shrink_to(held_bytes_);
        take_waiters(ready);
    }
    resume(ready);
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

// With the mutex held.
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

// With the mutex held. The wait ends on its own executor, where it cannot be missed.
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

// Each reader goes on on its own executor: at once where this thread runs that executor, unless
// there are so many that other runs would wait.
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

// Null: the event is the same for every projection.
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

bool event_log::read(cursor& at, const stream_form& form, std::size_t max_bytes, std::string& out) {
    const std::size_t most = out.size() + max_bytes;
    const std::lock_guard lock(mutex_);
    while (at.after < visible_ && out.size() < most) {
        const std::uint64_t sequence = at.after + 1;
        at.after = sequence;
        const auto* other = older_form(at, sequence);
        if (other != nullptr && (*other)->empty()) {
            continue;
        }
        const bool joins = other == nullptr && events_.joins(sequence);
        if (joins) {
            const std::size_t text = std::min(joined_bytes, most - out.size());
            at.after = events_.last_joined(sequence, visible_, text);
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
    return ended_ && all_read;
}

std::size_t event_log::bytes_behind(const cursor& at, const stream_form& form) const {
    const std::lock_guard lock(mutex_);
    if (at.after >= visible_ || events_.size() == 0) {
        return 0;
    }
    return events_.bytes_between(at.after, visible_, joins_deltas_, form.bytes_around());
}

boost::asio::awaitable<void> event_log::wait(const cursor& at, waiter& who) {
    const auto self = shared_from_this();
    co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
        [this, &at, &who](auto handler) {
            const std::lock_guard lock(mutex_);
            resumption here(who.executor(), std::move(handler));
            if (at.after < visible_ || ended_) {
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
    ++log_->readers_;
}

event_log::reader_token::~reader_token() { log_->reader_left(how_); }

void event_log::reader_left(leaving how) {
    const std::lock_guard lock(mutex_);
    --readers_;
    if (readers_ == 0 && !ended_ && on_last_reader_left_) {
        boost::asio::post(executor_, [told = on_last_reader_left_, how] { told(how); });
    }
}

void event_log::set_last_reader_handler(std::function<void(leaving)> handler) {
    const std::lock_guard lock(mutex_);
    on_last_reader_left_ = std::move(handler);
}

void event_log::set_failure_handler(std::function<void()> handler) {
    const std::lock_guard lock(mutex_);
    on_failure_ = std::move(handler);
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
