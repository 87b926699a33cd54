#include "session/sqlite/live_logs.hpp"

#include "session/conversation/change_check.hpp"
#include "session/conversation/message_json.hpp"
#include "session/conversation/message_size.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace agui::session {

namespace {

// Larger records gain nothing and fill the ring.
constexpr std::size_t record_bytes_max = 16U << 10U;

// Checked before a document is serialized, which takes the run's thread milliseconds if it is
// large.
bool has_large_document(const changes& change) {
    const auto is_large = [](const auto& document) {
        return document && stored_size(*document, record_bytes_max) > record_bytes_max;
    };
    return (change.state && change.state->view().size() > record_bytes_max) ||
           is_large(change.offered_tools) || is_large(change.context) || is_large(change.metadata);
}

// The record as bytes; empty: it is too large.
std::string bytes_of(redo_record& record) {
    record.message_texts.clear();
    if (has_large_document(record.change)) {
        return {};
    }
    std::size_t size = 0;
    for (const stored_message& added : record.change.messages) {
        // Checked first for the same reason: the message may hold an attachment.
        if (size + stored_size(added.message, record_bytes_max) > record_bytes_max) {
            return {};
        }
        record.message_texts.push_back(boost::json::serialize(to_stored_json(added.message)));
        size += record.message_texts.back().size();
        if (size > record_bytes_max) {
            return {};
        }
    }
    return to_bytes(record, record_bytes_max);
}

} // namespace

void live_logs::open(const thread_key& key, std::int64_t run_number, thread_size size) {
    const std::lock_guard lock(mutex_);
    open_locked(key, run_number, size);
}

void live_logs::open_locked(const thread_key& key, std::int64_t run_number, thread_size size) {
    live_run opened;
    opened.key = key;
    opened.size = size;
    runs_.insert_or_assign(run_number, std::move(opened));
    threads_.insert_or_assign(key, run_number);
}

void live_logs::close(std::int64_t run_number) {
    const std::lock_guard lock(mutex_);
    close_locked(run_number);
}

void live_logs::close_locked(std::int64_t run_number) {
    const auto closed = runs_.find(run_number);
    if (closed == runs_.end()) {
        return;
    }
    const auto thread = threads_.find(closed->second.key);
    if (thread != threads_.end() && thread->second == run_number) {
        threads_.erase(thread);
    }
    runs_.erase(closed);
}

// False: the ring cannot take them.
bool live_logs::append_entries_locked(
    live_run& target, const log_slice& slice, std::string_view commit
) {
    if (target.chain_bytes >= chain_bytes_max) {
        target.restart();
    }
    encoded_.clear();
    encode_entries(slice, target.chain, encoded_);
    const auto count = static_cast<std::uint32_t>(slice.ends.size());
    const bool taken = ring_.append(
        {.slice = {slice.run_number, slice.first_sequence, count, encoded_}, .commit = commit}
    );
    if (taken) {
        target.chain_bytes += encoded_.size();
        target.durable = last_sequence(slice);
    } else {
        target.restart();
    }
    if (encoded_.capacity() > log_ring::segment_bytes) {
        std::string().swap(encoded_);
    }
    return taken;
}

bool live_logs::is_behind_segment_of(log_ring::place before) const noexcept {
    return before / log_ring::segment_bytes != ring_.end() / log_ring::segment_bytes;
}

live_logs::outcome live_logs::append(const log_slice& slice) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(slice.run_number);
    if (found == runs_.end()) {
        return outcome::refused;
    }
    live_run& target = found->second;
    const log_ring::place before = ring_.end();
    if (target.queued_through == 0 && slice.first_sequence == target.durable + 1 &&
        append_entries_locked(target, slice, {})) {
        return is_behind_segment_of(before) ? outcome::durable_and_due : outcome::durable;
    }
    target.queued_through = std::max(target.queued_through, last_sequence(slice));
    return outcome::refused;
}

// `append` puts the record into the ring. It returns false if the ring cannot take it.
template <class Append>
live_logs::outcome live_logs::take_record(redo_record& record, Append append) {
    const log_ring::place before = ring_.end();
    held_record& held = records_.emplace_back(); // Before the ring: this can throw.
    bool taken = false;
    try {
        taken = append();
    } catch (...) {
        records_.pop_back();
        throw;
    }
    if (!taken) {
        records_.pop_back();
        return outcome::refused;
    }
    held.record = std::move(record);
    held.behind = ring_.end();
    ++commits_;
    const bool is_due = std::exchange(asked_for_next_, false) ||
                        records_.size() >= records_at_once || is_behind_segment_of(before);
    return is_due ? outcome::durable_and_due : outcome::durable;
}

live_logs::outcome live_logs::begin(redo_record& record) {
    check_change(record.before, record.change);
    if (refuses_begins_ || record.change.run) {
        return outcome::refused;
    }
    record.run_number = take_number();
    record.begins->number = record.run_number;
    const std::string bytes = bytes_of(record);
    if (bytes.empty()) {
        return outcome::refused;
    }
    const std::lock_guard lock(mutex_);
    const std::int64_t number = record.run_number;
    open_locked(record.key, number, size_after(record.before, record.change));
    const outcome taken = take_record(record, [&] {
        return ring_.append({.slice = {number, 0, 0, {}}, .commit = bytes});
    });
    if (taken == outcome::refused) {
        close_locked(number);
    }
    return taken;
}

std::optional<live_logs::subject> live_logs::subject_of(const thread_key& key) {
    const std::lock_guard lock(mutex_);
    const auto thread = threads_.find(key);
    if (thread == threads_.end()) {
        return std::nullopt;
    }
    return subject{thread->second, runs_.at(thread->second).size};
}

live_logs::outcome live_logs::commit(redo_record& record, const std::optional<log_slice>& log) {
    const std::optional<subject> of = subject_of(record.key);
    const bool is_of_run = of && (!log || log->run_number == of->run_number) &&
                           (!record.change.run || record.change.run->number == of->run_number);
    if (!is_of_run) {
        return outcome::refused;
    }
    record.run_number = of->run_number;
    record.before = of->size;
    check_change(record.before, record.change);
    const std::string bytes = bytes_of(record); // Without the lock, because it is slow.
    if (bytes.empty()) {
        return outcome::refused;
    }

    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(of->run_number);
    if (found == runs_.end()) {
        return outcome::refused;
    }
    live_run& run = found->second;
    const bool has_entries = log && !log->ends.empty();
    const bool is_next = run.queued_commits == 0 && run.queued_through == 0 &&
                         (!has_entries || log->first_sequence == run.durable + 1) &&
                         run.size == record.before;
    if (!is_next) {
        return outcome::refused;
    }
    const thread_size after = size_after(record.before, record.change);
    const bool is_end = ended_run(record.change) != 0;
    const outcome taken = take_record(record, [&] {
        return has_entries ? append_entries_locked(run, *log, bytes)
                           : ring_.append({.slice = {of->run_number, 0, 0, {}}, .commit = bytes});
    });
    if (taken != outcome::refused) {
        run.size = after;
        if (is_end) {
            close_locked(of->run_number);
        }
    }
    return taken;
}

std::int64_t live_logs::hold_commit(const thread_key& key) {
    const std::lock_guard lock(mutex_);
    const auto thread = threads_.find(key);
    if (thread == threads_.end()) {
        return 0;
    }
    ++runs_.at(thread->second).queued_commits;
    return thread->second;
}

void live_logs::settle_commit(std::int64_t held, std::optional<thread_size> growth) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(held);
    if (found == runs_.end()) {
        return;
    }
    live_run& run = found->second;
    --run.queued_commits;
    if (growth) {
        run.size.messages += growth->messages;
        run.size.branches = std::max(run.size.branches, growth->branches);
    }
}

void live_logs::note_queued(std::int64_t run_number, std::uint64_t sequence) {
    const std::lock_guard lock(mutex_);
    if (const auto found = runs_.find(run_number); found != runs_.end()) {
        found->second.queued_through = std::max(found->second.queued_through, sequence);
    }
}

void live_logs::settle(std::int64_t run_number, std::uint64_t sequence, bool durable) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run_number);
    if (found == runs_.end()) {
        return;
    }
    live_run& settled = found->second;
    if (durable) {
        settled.durable = std::max(settled.durable, sequence);
    }
    settled.restart();
    if (sequence >= settled.queued_through) {
        settled.queued_through = 0;
    }
}

bool live_logs::ask_for_next() {
    const std::lock_guard lock(mutex_);
    asked_for_next_ = records_.empty();
    return asked_for_next_;
}

// Moves all of them or, if there is no memory, none.
void live_logs::move_records(std::vector<held_record>& records) {
    records.reserve(records.size() + records_.size());
    std::ranges::move(records_, std::back_inserter(records));
    records_.clear();
}

log_ring::place live_logs::take(std::vector<held_record>& records) {
    const std::lock_guard lock(mutex_);
    move_records(records);
    return ring_.end();
}

log_ring::place live_logs::cut(std::vector<held_record>& records) {
    const std::lock_guard lock(mutex_);
    for (auto& [number, live] : runs_) {
        live.restart();
    }
    move_records(records);
    return ring_.end();
}

} // namespace agui::session
