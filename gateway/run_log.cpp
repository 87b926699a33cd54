#include "gateway/run_log.hpp"

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
#include <utility>

namespace agui::gateway {

namespace {

using translator::projection;

// Blocks grow with the log: a short run stays small, a long one needs few blocks.
constexpr std::size_t first_block_bytes = 1024;
constexpr std::size_t largest_block_bytes = 16 * 1024;

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

std::string variant_frame(std::uint64_t sequence, std::string_view json) {
    std::string frame;
    if (!json.empty()) {
        append_frame(frame, sequence, json);
    }
    return frame;
}

} // namespace

run_log::run_log(boost::asio::any_io_executor executor, settings options)
    : executor_(std::move(executor)), settings_(options) {
#ifdef AGUI_VERIFY_EVENTS
    verifier_ = std::make_unique<translator::event_verifier>();
    undeclared_verifier_ = std::make_unique<translator::event_verifier>();
#endif
}

run_log::~run_log() = default;

std::shared_ptr<run_log> run_log::restored(
    boost::asio::any_io_executor executor, const std::vector<session::log_entry>& entries
) {
    auto log = std::make_shared<run_log>(std::move(executor), settings{});
    const std::lock_guard lock(log->mutex_);
    for (const session::log_entry& entry : entries) {
        log->append_bytes(entry.frame);
        log->ends_.push_back(static_cast<std::uint32_t>(log->bytes_));
        if (!entry.variants.empty()) {
            const boost::json::object both = boost::json::parse(entry.variants).as_object();
            variant_entry variant{entry.sequence, std::nullopt, std::nullopt};
            if (const auto* frame = both.if_contains("1.0")) {
                variant.v1_0 = std::string(frame->as_string());
            }
            if (const auto* frame = both.if_contains("undeclared")) {
                variant.undeclared = std::string(frame->as_string());
            }
            log->variants_.push_back(std::move(variant));
        }
    }
    log->visible_ = log->ends_.size();
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
    const std::uint64_t sequence = ends_.size() + 1;
    frame_.clear();
    append_frame(frame_, sequence, event.json);
    append_bytes(frame_);
    ends_.push_back(static_cast<std::uint32_t>(bytes_));
    if (event.v1_0 || event.undeclared) {
        variant_entry variant{sequence, std::nullopt, std::nullopt};
        if (event.v1_0) {
            variant.v1_0 = variant_frame(sequence, *event.v1_0);
        }
        if (event.undeclared) {
            variant.undeclared = variant_frame(sequence, *event.undeclared);
        }
        variants_.push_back(std::move(variant));
    }
    terminal_staged_ = terminal_staged_ || event.terminal;
    if (!terminal_staged_) {
        schedule_flush();
    }
}

void run_log::append_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
        if (blocks_.empty() || blocks_.back().size == blocks_.back().capacity) {
            const std::size_t capacity =
                std::clamp(bytes_ / 2, first_block_bytes, largest_block_bytes);
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
            staged_from_ = ends_.size() + 1;
            visible_ = ends_.size();
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
    session::log_slice slice = take_staged();
    if (slice.ends.empty()) {
        return;
    }
    const std::uint64_t last = slice.first_sequence + slice.ends.size() - 1;
    settings_.store->append_log(std::move(slice), shared_from_this());
    if (settings_.visible_before_durable) {
        make_visible(last);
    }
}

session::log_slice run_log::take_staged() {
    const std::lock_guard lock(mutex_);
    session::log_slice slice;
    slice.run_number = settings_.run_number;
    slice.first_sequence = staged_from_;
    const std::size_t first = static_cast<std::size_t>(staged_from_) - 1;
    const std::size_t from = first == 0 ? 0 : ends_[first - 1];
    slice.frames.reserve(bytes_ - from);
    batch whole;
    add_range(from, bytes_, whole);
    for (const boost::asio::const_buffer& part : whole.buffers) {
        slice.frames.append(static_cast<const char*>(part.data()), part.size());
    }
    for (std::size_t i = first; i < ends_.size(); ++i) {
        slice.ends.push_back(static_cast<std::uint32_t>(ends_[i] - from));
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
    staged_from_ = ends_.size() + 1;
    return slice;
}

void run_log::publish_end() {
    std::vector<resumption> ready;
    {
        const std::lock_guard lock(mutex_);
        visible_ = ends_.size();
        ended_ = true;
        take_waiters(ready);
    }
    resume(std::move(ready));
}

void run_log::end_without_store(const translator::wire_event& terminal) {
    std::vector<resumption> ready;
    {
        const std::lock_guard lock(mutex_);
        tail_ = "data: ";
        tail_.append(terminal.json);
        tail_.append("\n\n");
        ended_ = true;
        take_waiters(ready);
    }
    resume(std::move(ready));
}

std::uint64_t run_log::last_sequence() const {
    const std::lock_guard lock(mutex_);
    return ends_.size();
}

void run_log::make_visible(std::uint64_t sequence) {
    std::vector<resumption> ready;
    {
        const std::lock_guard lock(mutex_);
        if (sequence <= visible_ || ended_) {
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

// Each reader goes on on its own executor: at once where this thread runs that executor.
void run_log::resume(std::vector<resumption> ready) {
    for (resumption& reader : ready) {
        std::move(reader).dispatch();
    }
}

void run_log::add_range(std::size_t from, std::size_t to, batch& out) const {
    auto part = std::upper_bound(
        blocks_.begin(), blocks_.end(), from,
        [](std::size_t offset, const block& candidate) { return offset < candidate.begin; }
    );
    if (part != blocks_.begin()) {
        --part;
    }
    while (from < to) {
        const std::size_t inside = from - part->begin;
        const std::size_t count = std::min(part->size - inside, to - from);
        out.buffers.emplace_back(part->bytes.get() + inside, count);
        out.bytes += count;
        from += count;
        ++part;
    }
}

void run_log::read(cursor& at, std::size_t max_bytes, batch& out) {
    out.buffers.clear();
    out.bytes = 0;
    const std::lock_guard lock(mutex_);
    if (!at.placed) {
        at.after = std::min<std::uint64_t>(at.after, ends_.size());
        at.offset = at.after == 0 ? 0 : ends_[static_cast<std::size_t>(at.after) - 1];
        at.placed = true;
    }
    auto variant = variants_.end();
    if (at.projection != projection::v1_1) {
        variant = std::upper_bound(
            variants_.begin(), variants_.end(), at.after,
            [](std::uint64_t after, const variant_entry& entry) { return after < entry.sequence; }
        );
    }
    std::size_t run_begin = at.offset; // Of frames that are sent as they are.
    while (at.after < visible_ && out.bytes + (at.offset - run_begin) < max_bytes &&
           out.buffers.size() + 4 < max_buffers) {
        const std::size_t end = ends_[static_cast<std::size_t>(at.after)];
        ++at.after;
        if (variant != variants_.end() && variant->sequence == at.after) {
            const auto& other =
                at.projection == projection::v1_0 ? variant->v1_0 : variant->undeclared;
            if (other) {
                add_range(run_begin, at.offset, out);
                if (!other->empty()) {
                    out.buffers.emplace_back(other->data(), other->size());
                    out.bytes += other->size();
                }
                run_begin = end;
            }
            ++variant;
        }
        at.offset = end;
    }
    add_range(run_begin, at.offset, out);
    const bool all_read = at.after >= visible_;
    if (ended_ && all_read && !tail_.empty() && !at.tail_read) {
        out.buffers.emplace_back(tail_.data(), tail_.size());
        out.bytes += tail_.size();
        at.tail_read = true;
    }
    out.ended = ended_ && all_read;
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

bool run_log::ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
}

void run_log::on_durable(std::uint64_t sequence) noexcept { make_visible(sequence); }

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
