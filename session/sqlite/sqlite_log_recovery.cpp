// How sqlite_log recovers, once, what an earlier process left.

#include "session/sqlite/sqlite_log.hpp"

#include <algorithm>
#include <limits>

namespace agui::session {

void sqlite_log::recover(const log_ring::contents* ring, bool ring_is_lost) {
    row_bytes_ = static_cast<std::uint64_t>(
        db_.integer("SELECT coalesce(sum(bytes), 0) FROM run_logs INDEXED BY run_logs_by_run")
    );
    std::unordered_map<std::int64_t, std::vector<page_slice>> from_ring;
    bool is_unreadable = ring_is_lost;
    if (ring != nullptr) {
        is_unreadable = is_unreadable || ring->unreadable;
        for (const page_slice& held : ring->slices) {
            from_ring[held.slice.run_number].push_back(held);
        }
    }
    read_pages(from_ring);
    for (auto& [run_number, slices] : from_ring) {
        recover_before(std::numeric_limits<std::uint64_t>::max(), slices);
    }

    if (damaged_.empty() && unreadable_pages_.empty() && !is_unreadable) {
        return;
    }
    std::ranges::sort(damaged_);
    damaged_.erase(std::ranges::unique(damaged_).begin(), damaged_.end());
    transaction change(db_);
    for (const std::int64_t run_number : damaged_) {
        runs_.set_log_state(run_number, log_state::damaged);
        tails_.erase(run_number);
        log_.log(
            log_level::warning, "a part of a run's log is damaged: the log is not served",
            {{"run", std::to_string(run_number)}}
        );
    }
    // In an ended run's log a gap shows, as its last sequence is known. An active run may have lost
    // the end of its log.
    if (is_unreadable || !unreadable_pages_.empty()) {
        runs_.mark_active_damaged();
    }
    if (is_unreadable) {
        log_.log(
            log_level::warning, ring_is_lost ? "the file of the latest log entries is missing: "
                                               "logs of active runs are not served"
                                             : "the file of the latest log entries is damaged: "
                                               "logs of active runs are not served"
        );
    }
    for (const std::int64_t page : unreadable_pages_) {
        db_.execute("DELETE FROM log_pages WHERE page = " + std::to_string(page));
        log_.log(
            log_level::warning, "a page of the log is damaged: logs of active runs are not served",
            {{"page", std::to_string(page)}}
        );
    }
    change.commit();
}

void sqlite_log::read_pages(std::unordered_map<std::int64_t, std::vector<page_slice>>& from_ring) {
    first_page_ = db_.integer("SELECT coalesce(min(page), 1) FROM log_pages");
    statement pages(db_, "SELECT page, slices FROM log_pages ORDER BY page");
    statement::rows row = pages.query();
    while (row.next()) {
        next_page_ = row.integer(0) + 1;
        const auto slices = read_log_page(row.blob(1));
        if (!slices) {
            unreadable_pages_.push_back(row.integer(0));
            continue;
        }
        for (const page_slice& held : *slices) {
            if (const auto found = from_ring.find(held.slice.run_number);
                found != from_ring.end()) {
                recover_before(held.slice.first_sequence, found->second);
            }
            recover_or_mark(held);
        }
    }
}

// A run's entries in the ring are in order, and so are those in pages. The two must be merged.
void sqlite_log::recover_before(std::uint64_t sequence, std::vector<page_slice>& from_ring) {
    const auto end = std::ranges::find_if(from_ring, [sequence](const page_slice& held) {
        return held.slice.first_sequence >= sequence;
    });
    std::for_each(from_ring.begin(), end, [this](const page_slice& held) {
        recover_or_mark(held);
    });
    from_ring.erase(from_ring.begin(), end);
}

void sqlite_log::recover_or_mark(const page_slice& held) {
    if (!recover_slice(held)) {
        damaged_.push_back(held.slice.run_number);
    }
}

// False: bytes of the run are lost.
bool sqlite_log::recover_slice(const page_slice& held) {
    const encoded_slice& slice = held.slice;
    const auto position = runs_.log_of(slice.run_number);
    if (!position || position->state != log_state::kept) {
        return true;
    }
    if (held.damaged) {
        return false;
    }
    const auto [place, is_new] = tails_.try_emplace(slice.run_number);
    tail& target = place->second;
    if (is_new) {
        target.end = target.staged = end_of_rows(slice.run_number);
    }
    // What is left of a dropped log may begin anywhere.
    const std::uint64_t next = target.end == 0 ? slice.first_sequence : target.end + 1;
    if (target.end == 0 && !entry_chain::begins_with_whole_entry(slice.bytes)) {
        return true; // The rest of a dropped log, which cannot be decoded.
    }
    // A process that ended during a fold leaves entries both in a row and in a page.
    if (slice.first_sequence + slice.count <= next) {
        return true;
    }
    if (slice.first_sequence != next) {
        return false;
    }
    // Decoded, because the run's next slice may continue the chain.
    std::string_view rest = slice.bytes;
    log_entry entry;
    for (std::uint32_t i = 0; i < slice.count; ++i) {
        if (!target.chain.decode(slice.first_sequence + i, rest, entry)) {
            return false;
        }
    }
    keep(target, slice);
    target.staged = target.end;
    target.open_bytes = open_bytes_of(target);
    return true;
}

} // namespace agui::session
