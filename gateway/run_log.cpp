#include "gateway/run_log.hpp"

#include "session/base/failpoint.hpp"
#include "translator/verifier.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
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

// Blocks grow with the log: a short run stays small, a long one needs few blocks.
constexpr std::size_t first_block_bytes = 512;
constexpr std::size_t largest_block_bytes = 16 * 1024;
constexpr std::size_t first_entries = 16;

// Of one event: a slow reader has something whole before it is cut off.
constexpr std::size_t joined_bytes = 4096;

// What a thread keeps for its next slice.
constexpr std::size_t reused_slice_bytes = 4096;

// Of a log that takes memory from the reserve: a large one ends before all small ones do.
constexpr std::size_t small_log_bytes = 64 * 1024;
// Of the budget, at a time.
constexpr std::size_t counted_bytes = 4096;

// Readers that go on before anything else does.
constexpr std::size_t resumed_at_once = 32;

// What a frame has around its JSON, about.
constexpr std::size_t frame_bytes = 16;

// What deltas have in common ends with this.
constexpr std::string_view delta_member = R"("delta":")";
// What follows the text of a delta.
constexpr std::string_view delta_end = R"("})";
// Whose texts may be read as one.
constexpr std::array<std::string_view, 3> joined_types = {
    R"({"type":"TEXT_MESSAGE_CONTENT",)", R"({"type":"REASONING_MESSAGE_CONTENT",)",
    R"({"type":"TOOL_CALL_ARGS",)"};

void append_number(std::string& out, std::uint64_t number) {
    std::array<char, 20> digits{};
    const auto [end, ec] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    (void)ec; // 20 digits hold every 64-bit number.
    out.append(digits.data(), end);
}

void append_frame(std::string& out, std::uint64_t sequence, std::string_view json) {
    out.append("id: ");
    append_number(out, sequence);
    out.append("\ndata: ");
    out.append(json);
    out.append("\n\n");
}

// The JSON of a finished frame.
std::string_view json_of(std::string_view frame) {
    constexpr std::string_view data = "\ndata: ";
    const std::size_t begin = frame.find(data);
    if (begin == std::string_view::npos || !frame.ends_with("\n\n")) {
        throw std::runtime_error("a stored event is not a frame");
    }
    return frame.substr(begin + data.size(), frame.size() - begin - data.size() - 2);
}

std::string variant_frame(std::uint64_t sequence, std::string_view json) {
    std::string frame;
    if (!json.empty()) {
        append_frame(frame, sequence, json);
    }
    return frame;
}

} // namespace

run_log::run_log(boost::asio::any_io_executor executor, settings options)
    : executor_(std::move(executor)), settings_(options),
      share_(options.budget, memory_use::small, counted_bytes) {
#ifdef AGUI_VERIFY_EVENTS
    verifier_ = std::make_unique<translator::event_verifier>();
    undeclared_verifier_ = std::make_unique<translator::event_verifier>();
#endif
}

run_log::~run_log() = default;

std::shared_ptr<run_log> run_log::restored(
    boost::asio::any_io_executor executor, const std::vector<session::log_entry>& entries,
    bool join_deltas
) {
    auto log = begin_restored(std::move(executor), nullptr, join_deltas);
    log->restore(entries);
    log->end_restored();
    return log;
}

std::shared_ptr<run_log> run_log::begin_restored(
    boost::asio::any_io_executor executor, memory_budget* budget, bool join_deltas
) {
    settings options;
    options.budget = budget;
    auto log = std::make_shared<run_log>(std::move(executor), options);
    log->joins_deltas_ = join_deltas;
    return log;
}

void run_log::restore(const std::vector<session::log_entry>& entries) {
    const std::lock_guard lock(mutex_);
    for (const session::log_entry& entry : entries) {
        append_event(json_of(entry.frame));
        if (!entry.variants.empty()) {
            const boost::json::object both = boost::json::parse(entry.variants).as_object();
            variant_entry variant{entry.sequence, std::nullopt, std::nullopt};
            if (const auto* frame = both.if_contains("1.0")) {
                variant.v1_0 = std::string(frame->as_string());
            }
            if (const auto* frame = both.if_contains("undeclared")) {
                variant.undeclared = std::string(frame->as_string());
            }
            count(entry.variants.size());
            variants_.push_back(std::move(variant));
        } else if (joins_deltas_) {
            entries_.back().joins = can_join(entries_.size() - 1) ? 1 : 0;
        }
    }
}

void run_log::end_restored() {
    const std::lock_guard lock(mutex_);
    visible_ = entries_.size();
    ended_ = true;
}

std::shared_ptr<run_log>
run_log::empty_at(boost::asio::any_io_executor executor, std::uint64_t last_sequence) {
    auto log = std::make_shared<run_log>(std::move(executor), settings{});
    const std::lock_guard lock(log->mutex_);
    log->visible_ = last_sequence;
    log->ended_ = true;
    return log;
}

// A sequence that clients would reject is a bug of the translator; in debug builds nobody gets past it.
void run_log::verify(const translator::wire_event& event) {
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

void run_log::on_event(const translator::wire_event& event) {
    verify(event);
    const std::lock_guard lock(mutex_);
    const std::uint64_t sequence = entries_.size() + 1;
    append_event(event.json);
    if (event.v1_0 || event.undeclared) {
        variant_entry variant{sequence, std::nullopt, std::nullopt};
        if (event.v1_0) {
            variant.v1_0 = variant_frame(sequence, *event.v1_0);
        }
        if (event.undeclared) {
            variant.undeclared = variant_frame(sequence, *event.undeclared);
        }
        count(
            sizeof(variant_entry) + (event.v1_0 ? event.v1_0->size() : 0) +
            (event.undeclared ? event.undeclared->size() : 0)
        );
        variants_.push_back(std::move(variant));
    }
    terminal_staged_ = terminal_staged_ || event.terminal;
    if (!terminal_staged_) {
        schedule_flush();
    }
}

// Called where memory is allocated, which is not for each event.
void run_log::count(std::size_t bytes) {
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

void run_log::append_event(std::string_view json) {
    std::uint32_t prefix = static_cast<std::uint32_t>(prefixes_.size());
    if (prefixes_.empty() || !json.starts_with(prefixes_.back())) {
        const std::size_t delta = json.find(delta_member);
        if (delta == std::string_view::npos) {
            prefix = 0;
        } else {
            prefixes_.emplace_back(json.substr(0, delta + delta_member.size()));
            count(sizeof(std::string) + prefixes_.back().size());
            ++prefix;
        }
    }
    if (prefix > 0) {
        json.remove_prefix(prefixes_.back().size());
    }
    append_bytes(json);
    if (entries_.size() == entries_.capacity()) {
        // Doubling would leave half of it spare in every log that is kept.
        const std::size_t more = std::max(first_entries, entries_.size() / 4);
        count(more * sizeof(entry));
        entries_.reserve(entries_.size() + more);
    }
    entries_.push_back({static_cast<std::uint32_t>(bytes_), prefix, 0});
}

void run_log::append_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
        if (blocks_.empty() || blocks_.back().size == blocks_.back().capacity) {
            const std::size_t capacity =
                std::clamp(bytes_ / 4, first_block_bytes, largest_block_bytes);
            count(sizeof(block) + capacity);
            blocks_.push_back({std::make_unique_for_overwrite<char[]>(capacity), bytes_, 0, capacity});
        }
        block& last = blocks_.back();
        const std::size_t count = std::min(bytes.size(), last.capacity - last.size);
        std::memcpy(last.bytes.get() + last.size, bytes.data(), count);
        last.size += count;
        bytes_ += count;
        bytes.remove_prefix(count);
    }
}

void run_log::schedule_flush() {
    if (!flush_scheduled_) {
        flush_scheduled_ = true;
        boost::asio::post(executor_, [self = shared_from_this()] { self->flush(); });
    }
}

void run_log::flush() {
    if (settings_.store == nullptr) {
        std::vector<resumption> ready;
        {
            const std::lock_guard lock(mutex_);
            flush_scheduled_ = false;
            if (terminal_staged_ || ended_) {
                return; // The terminal's commit makes everything visible.
            }
            staged_from_ = entries_.size() + 1;
            visible_ = entries_.size();
            take_waiters(ready);
        }
        resume(std::move(ready));
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
    if (slice.frames.capacity() <= reused_slice_bytes) {
        slice.frames.clear();
        slice.ends.clear();
        slice.variants.clear();
        reused = std::move(slice);
    }
    if (settings_.visible_before_durable) {
        make_visible(last);
    }
}

session::log_slice run_log::take_staged() {
    session::log_slice slice;
    write_staged(slice);
    return slice;
}

std::string run_log::write_variants(
    std::uint64_t sequence, const std::optional<std::string>& v1_0,
    const std::optional<std::string>& undeclared
) {
    boost::json::object both;
    if (v1_0) {
        both["1.0"] = variant_frame(sequence, *v1_0);
    }
    if (undeclared) {
        both["undeclared"] = variant_frame(sequence, *undeclared);
    }
    return boost::json::serialize(both);
}

// `slice` is empty.
void run_log::write_staged(session::log_slice& slice) {
    const std::lock_guard lock(mutex_);
    slice.run_number = settings_.run_number;
    slice.first_sequence = staged_from_;
    for (std::uint64_t sequence = staged_from_; sequence <= entries_.size(); ++sequence) {
        write_frame(sequence, slice.frames);
        slice.ends.push_back(static_cast<std::uint32_t>(slice.frames.size()));
    }
    for (const variant_entry& variant : variants_) {
        if (variant.sequence >= staged_from_) {
            boost::json::object both;
            if (variant.v1_0) {
                both["1.0"] = *variant.v1_0;
            }
            if (variant.undeclared) {
                both["undeclared"] = *variant.undeclared;
            }
            slice.variants.emplace_back(
                static_cast<std::uint32_t>(variant.sequence - staged_from_),
                boost::json::serialize(both)
            );
        }
    }
    staged_from_ = entries_.size() + 1;
}

void run_log::publish_end() {
    std::vector<resumption> ready;
    {
        const std::lock_guard lock(mutex_);
        visible_ = entries_.size();
        ended_ = true;
        share_.shrink_to(held_bytes_);
        take_waiters(ready);
    }
    resume(std::move(ready));
}

std::string run_log::freeze() {
    std::string frames;
    const std::lock_guard lock(mutex_);
    frozen_ = true;
    for (std::uint64_t sequence = 1; sequence <= visible_; ++sequence) {
        write_frame(sequence, frames);
    }
    return frames;
}

void run_log::end_without_store(const std::vector<std::string>& events) {
    std::vector<resumption> ready;
    {
        const std::lock_guard lock(mutex_);
        for (const std::string& json : events) {
            tail_.append("data: ").append(json).append("\n\n");
        }
        ended_ = true;
        share_.shrink_to(held_bytes_);
        take_waiters(ready);
    }
    resume(std::move(ready));
}

std::uint64_t run_log::last_sequence() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

std::size_t run_log::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_ + entries_.size() * sizeof(entry);
}

bool run_log::outgrown(std::size_t most) const {
    const std::lock_guard lock(mutex_);
    return over_budget_ || bytes_ + entries_.size() * sizeof(entry) > most;
}

void run_log::make_visible(std::uint64_t sequence) {
    std::vector<resumption> ready;
    {
        const std::lock_guard lock(mutex_);
        if (sequence <= visible_ || ended_ || frozen_) {
            return;
        }
        visible_ = sequence;
        take_waiters(ready);
    }
    resume(std::move(ready));
}

void run_log::take_waiters(std::vector<resumption>& ready) {
    for (waiter* waiting : waiters_) {
        ready.push_back(std::move(waiting->resumption_));
    }
    waiters_.clear();
}

// Each reader goes on on its own executor: at once where this thread runs that executor, unless there are
// so many that other runs would wait.
void run_log::resume(std::vector<resumption> ready) {
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

void run_log::copy_bytes(std::size_t from, std::size_t to, std::string& out) const {
    // Readers are mostly at the end of the log: its last block is looked at first.
    std::size_t index = blocks_.size();
    while (index > 1 && blocks_[index - 1].begin > from) {
        --index;
    }
    while (from < to) {
        const block& part = blocks_[index - 1];
        const std::size_t inside = from - part.begin;
        const std::size_t count = std::min(part.size - inside, to - from);
        out.append(part.bytes.get() + inside, count);
        from += count;
        ++index;
    }
}

void run_log::write_frame(std::uint64_t sequence, std::string& out) const {
    const auto index = static_cast<std::size_t>(sequence) - 1;
    const entry& event = entries_[index];
    out.append("id: ");
    append_number(out, sequence);
    out.append("\ndata: ");
    if (event.prefix > 0) {
        out.append(prefixes_[event.prefix - 1]);
    }
    copy_bytes(index == 0 ? 0 : entries_[index - 1].end, event.end, out);
    out.append("\n\n");
}

// True for a delta of which nothing but its text is behind the prefix.
bool run_log::can_join(std::size_t index) const {
    const entry& event = entries_[index];
    if (event.prefix == 0) {
        return false;
    }
    const std::string_view prefix = prefixes_[event.prefix - 1];
    const bool is_delta = std::ranges::any_of(joined_types, [prefix](std::string_view type) {
        return prefix.starts_with(type);
    });
    if (!is_delta) {
        return false;
    }
    std::string own;
    copy_bytes(index == 0 ? 0 : entries_[index - 1].end, event.end, own);
    std::size_t at = 0;
    while (at < own.size() && own[at] != '"') {
        at += own[at] == '\\' ? 2 : 1;
    }
    return at < own.size() && std::string_view(own).substr(at) == delta_end;
}

// Writes the event and those that join it; returns the last one's sequence.
std::uint64_t
run_log::write_joined(std::uint64_t sequence, std::size_t max_bytes, std::string& out) const {
    const std::uint32_t prefix = entries_[sequence - 1].prefix;
    std::uint64_t last = sequence;
    std::string text;
    for (std::size_t index = sequence - 1; index < visible_; ++index) {
        const entry& event = entries_[index];
        if (event.joins == 0 || event.prefix != prefix || text.size() >= joined_bytes ||
            out.size() + text.size() >= max_bytes) {
            break;
        }
        copy_bytes(
            index == 0 ? 0 : entries_[index - 1].end, event.end - delta_end.size(), text
        );
        last = index + 1;
    }
    out.append("id: ");
    append_number(out, last);
    out.append("\ndata: ").append(prefixes_[prefix - 1]).append(text).append(delta_end).append("\n\n");
    return last;
}

void run_log::read(cursor& at, std::size_t max_bytes, batch& out) {
    out.text.clear();
    const std::lock_guard lock(mutex_);
    auto variant = variants_.end();
    if (at.projection != projection::v1_1) {
        variant = std::upper_bound(
            variants_.begin(), variants_.end(), at.after,
            [](std::uint64_t after, const variant_entry& entry) { return after < entry.sequence; }
        );
    }
    while (at.after < visible_ && out.text.size() < max_bytes) {
        ++at.after;
        const std::optional<std::string>* other = nullptr;
        if (variant != variants_.end() && variant->sequence == at.after) {
            other = at.projection == projection::v1_0 ? &variant->v1_0 : &variant->undeclared;
            ++variant;
        }
        if (other != nullptr && other->has_value()) {
            out.text.append(**other);
        } else if (entries_[at.after - 1].joins != 0) {
            at.after = write_joined(at.after, max_bytes, out.text);
        } else {
            write_frame(at.after, out.text);
        }
    }
    const bool all_read = at.after >= visible_;
    if (ended_ && all_read && !at.tail_read) {
        out.text.append(tail_);
        at.tail_read = true;
    }
    out.ended = ended_ && all_read;
}

std::size_t run_log::bytes_behind(const cursor& at) const {
    const std::lock_guard lock(mutex_);
    if (at.after >= visible_ || entries_.empty()) {
        return 0;
    }
    const std::size_t begin = at.after == 0 ? 0 : entries_[at.after - 1].end;
    const std::size_t own = entries_[visible_ - 1].end - begin;
    if (joins_deltas_) {
        return own; // What deltas share is read once for many.
    }
    const std::size_t shared = prefixes_.empty() ? 0 : prefixes_.back().size();
    return own + (visible_ - at.after) * (shared + frame_bytes);
}

boost::asio::awaitable<void> run_log::wait(const cursor& at, waiter& who) {
    const auto self = shared_from_this();
    co_await boost::asio::async_initiate<
        const boost::asio::use_awaitable_t<>, void()>(
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

void run_log::wake(waiter& who) {
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

run_log::reader_token::reader_token(std::shared_ptr<run_log> log) : log_(std::move(log)) {
    const std::lock_guard lock(log_->mutex_);
    ++log_->readers_;
}

run_log::reader_token::~reader_token() { log_->reader_left(); }

void run_log::reader_left() {
    const std::lock_guard lock(mutex_);
    --readers_;
    if (readers_ == 0 && !ended_ && on_last_reader_left_) {
        boost::asio::post(executor_, on_last_reader_left_);
    }
}

void run_log::set_last_reader_handler(std::function<void()> handler) {
    const std::lock_guard lock(mutex_);
    on_last_reader_left_ = std::move(handler);
}

void run_log::set_failure_handler(std::function<void()> handler) {
    const std::lock_guard lock(mutex_);
    on_failure_ = std::move(handler);
}

std::size_t run_log::reader_count() const {
    const std::lock_guard lock(mutex_);
    return readers_;
}

std::uint64_t run_log::visible_sequence() const {
    const std::lock_guard lock(mutex_);
    return visible_;
}

bool run_log::ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
}

void run_log::on_durable(std::uint64_t sequence) noexcept {
    pass_failpoint("log.durable");
    make_visible(sequence);
}

void run_log::on_failed() noexcept {
    std::function<void()> handler;
    {
        const std::lock_guard lock(mutex_);
        if (failed_ || ended_) {
            return;
        }
        failed_ = true;
        handler = on_failure_;
    }
    if (handler) {
        handler();
    }
}

} // namespace agui::gateway
