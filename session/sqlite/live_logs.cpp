#include "session/sqlite/live_logs.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

namespace agui::session {

namespace {

// Rows are written for a run each time it has this many more bytes, which bounds its use of memory
// and of the journal.
constexpr std::size_t due_bytes = 256U << 10U;
// Above this, the memory of encoded entries is freed.
constexpr std::size_t kept_encoded_bytes = 64U << 10U;

} // namespace

void live_logs::open(std::int64_t run_number, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    const auto [opened, is_new] = runs_.try_emplace(run_number);
    if (is_new) {
        opened->second.end = end;
        opened->second.due_at = due_bytes;
    }
}

void live_logs::close(std::int64_t run_number) {
    const std::lock_guard lock(mutex_);
    const auto closed = runs_.find(run_number);
    if (closed != runs_.end()) {
        unpin(closed->second.gathered_file);
        unpin(closed->second.latest_file);
        runs_.erase(closed);
    }
}

void live_logs::append(std::span<appending> all) noexcept {
    const std::lock_guard lock(mutex_);
    written_.clear();
    // In memory first, because that can be undone.
    for (appending& each : all) {
        each.result = keep(*each.slice) ? outcome::written : outcome::refused;
    }
    if (encoded_.capacity() > kept_encoded_bytes) {
        std::string().swap(encoded_);
    }
    if (written_.empty()) {
        return;
    }
    const std::uint64_t file = journal_.append(written_);
    for (appending& each : all) {
        if (each.result == outcome::written) {
            each.result = settle(*each.slice, file);
        }
    }
}

// Returns null if the slice does not continue the log of an open run.
live_logs::live_run* live_logs::run_of(const log_slice& slice) noexcept {
    const auto found = runs_.find(slice.run_number);
    const bool continues = found != runs_.end() && slice.first_sequence == found->second.end + 1;
    return continues ? &found->second : nullptr;
}

// Keeps the entries in memory and adds them to written_.
bool live_logs::keep(const log_slice& slice) noexcept {
    live_run* const run = run_of(slice);
    if (run == nullptr) {
        return false;
    }
    try {
        written_.emplace_back();
        run->latest.append(slice, encoded_);
    } catch (const std::exception&) {
        if (!written_.empty() && written_.back().count == 0) {
            written_.pop_back();
        }
        return false;
    }
    written_.back() = {
        slice.run_number, slice.first_sequence, static_cast<std::uint32_t>(slice.ends.size()),
        run->latest.appended()
    };
    return true;
}

// `file` has the kept entries; 0: they could not be written.
live_logs::outcome live_logs::settle(const log_slice& slice, std::uint64_t file) noexcept {
    live_run& run = *run_of(slice);
    if (file == 0) {
        run.latest.undo_append();
        return outcome::refused;
    }
    run.end = last_sequence(slice);
    try {
        if (run.latest_file == 0) {
            pin(file); // First, because it can throw.
            run.latest_file = file;
        }
        if (run.latest.bytes() < run.due_at) {
            return outcome::written;
        }
        due_.push_back(slice.run_number);
    } catch (const std::exception&) {
        return outcome::refused; // The file may be removed early, so nobody may rely on it.
    }
    run.due_at = run.latest.bytes() + due_bytes;
    return outcome::written_and_due;
}

std::optional<std::uint64_t> live_logs::end_of(std::int64_t run_number) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run_number);
    return found == runs_.end() ? std::nullopt : std::optional(found->second.end);
}

bool live_logs::read(
    std::int64_t run_number, std::uint64_t after, std::size_t limit, std::vector<log_entry>& entries
) {
    // Copy, because the run and all others wait for the lock.
    std::vector<log_chunk> chunks;
    {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(run_number);
        if (found == runs_.end()) {
            return true;
        }
        for (const chunk_list* list : {&found->second.gathered, &found->second.latest}) {
            std::ranges::copy_if(
                list->chunks(), std::back_inserter(chunks),
                [after](const log_chunk& held) { return held.last_sequence() > after; }
            );
        }
    }
    return std::ranges::all_of(chunks, [&](const log_chunk& held) {
        return entries.size() >= limit ||
               decode_entries(held.as_slice(run_number), after, limit, entries);
    });
}

chunk_list* live_logs::gather(std::int64_t run_number) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run_number);
    if (found == runs_.end()) {
        return nullptr;
    }
    live_run& run = found->second;
    run.gathered.append(std::move(run.latest));
    if (run.gathered_file == 0) {
        run.gathered_file = std::exchange(run.latest_file, 0);
    } else {
        unpin(run.latest_file); // Files are removed in order: the earlier one keeps it.
    }
    run.due_at = due_bytes;
    return &run.gathered;
}

void live_logs::put_in_rows(std::int64_t run_number, std::uint64_t end) {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(run_number);
    if (found != runs_.end()) {
        found->second.gathered.clear();
        found->second.end = std::max(found->second.end, end);
        unpin(found->second.gathered_file);
    }
}

std::vector<std::int64_t> live_logs::take_due() {
    const std::lock_guard lock(mutex_);
    return std::exchange(due_, {});
}

std::vector<std::int64_t> live_logs::with_entries() {
    return with_entries_before(std::numeric_limits<std::uint64_t>::max());
}

std::vector<std::int64_t> live_logs::with_entries_before(std::uint64_t file) {
    std::vector<std::int64_t> runs;
    const std::lock_guard lock(mutex_);
    for (const auto& [number, run] : runs_) {
        const std::uint64_t first = run.gathered_file != 0 ? run.gathered_file : run.latest_file;
        if (first != 0 && first < file) {
            runs.push_back(number);
        }
    }
    return runs;
}

std::optional<std::uint64_t> live_logs::first_file() const {
    const std::lock_guard lock(mutex_);
    return pins_.empty() ? std::nullopt : std::optional(pins_.begin()->first);
}

void live_logs::pin(std::uint64_t file) { ++pins_[file]; }

void live_logs::unpin(std::uint64_t& file) noexcept {
    const auto pinned = pins_.find(std::exchange(file, 0));
    if (pinned != pins_.end() && --pinned->second == 0) {
        pins_.erase(pinned);
    }
}

} // namespace agui::session
