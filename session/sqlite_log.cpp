#include "session/sqlite_log.hpp"

#include "session/base/failpoint.hpp"

#include <algorithm>

namespace agui::session {

namespace {

// Of all tails together, before they are folded: what a run's row holds grows with it, and so do
// the memory, the pages on disk and the time to open after a crash.
constexpr std::size_t fold_bytes = 256U << 10U;
// One row of a run's log: what a reader from the middle has to read at least.
constexpr std::size_t run_log_bytes = 256U << 10U;
// One step of folding, so that commits wait for a few milliseconds at most.
constexpr std::size_t fold_step_rows = 32;
constexpr std::int64_t fold_step_pages = 128;
// A page is one BLOB, which SQLite limits to 10^9 bytes.
constexpr std::size_t page_bytes_max = 16U << 20U;

failure expired() {
    return {errc::run_expired, "the log of this run is gone", {}, {}};
}

std::size_t bytes_of(const log_slice& slice) noexcept {
    return slice.frames.size() + slice.ends.size() * sizeof(std::uint32_t);
}

// How many entries from `first` on make a row.
std::size_t row_end(const log_slice& slice, std::size_t first) noexcept {
    const std::size_t begin = first == 0 ? 0 : slice.ends[first - 1];
    std::size_t last = first + 1;
    while (last < slice.ends.size() && slice.ends[last] - begin <= run_log_bytes) {
        ++last;
    }
    return last;
}

} // namespace

sqlite_log::sqlite_log(database& db, sqlite_runs& runs, agui::logger& log)
    : db_(db),
      runs_(runs),
      log_(log),
      add_page_(db, "INSERT INTO log_pages (page, slices) VALUES (?, ?)"),
      delete_pages_(db, "DELETE FROM log_pages WHERE page < ?"),
      add_run_log_(
          db, "INSERT INTO run_logs (run, first_sequence, last_sequence, checksum, payload) "
              "VALUES (?, ?, ?, ?, ?)"
      ),
      read_run_log_(
          db, "SELECT first_sequence, last_sequence, checksum, payload FROM run_logs "
              "WHERE run = ? AND last_sequence > ? ORDER BY first_sequence"
      ),
      end_of_run_log_(
          db,
          "SELECT last_sequence FROM run_logs WHERE run = ? ORDER BY first_sequence DESC LIMIT 1"
      ),
      erase_run_log_(db, "DELETE FROM run_logs WHERE run = ?") {}

void sqlite_log::recover() {
    std::vector<std::int64_t> damaged;
    std::vector<std::int64_t> unreadable_pages;
    first_page_ = db_.integer("SELECT coalesce(min(page), 1) FROM log_pages");
    {
        statement pages(db_, "SELECT page, slices FROM log_pages ORDER BY page");
        statement::rows row = pages.query();
        while (row.next()) {
            next_page_ = row.integer(0) + 1;
            const auto slices = read_log_page(row.blob(1));
            if (!slices) {
                unreadable_pages.push_back(row.integer(0));
                continue;
            }
            for (const page_slice& held : *slices) {
                if (held.slice) {
                    recover_slice(*held.slice, damaged);
                } else {
                    damaged.push_back(held.run_number);
                }
            }
        }
    }

    if (damaged.empty() && unreadable_pages.empty()) {
        return;
    }
    transaction change(db_);
    for (const std::int64_t run_number : damaged) {
        runs_.set_log_state(run_number, log_state::damaged);
        tails_.erase(run_number);
        log_.log(
            log_level::warning, "part of a run's log is damaged: it is not served",
            {{"run", std::to_string(run_number)}}
        );
    }
    if (!unreadable_pages.empty()) {
        // Ended runs notice their loss by the sequence numbers, active ones may have lost their
        // end.
        runs_.mark_active_damaged();
        for (const std::int64_t page : unreadable_pages) {
            db_.execute("DELETE FROM log_pages WHERE page = " + std::to_string(page));
            log_.log(
                log_level::warning, "a page of the log is damaged: active runs are not served",
                {{"page", std::to_string(page)}}
            );
        }
    }
    change.commit();
}

void sqlite_log::recover_slice(const log_slice& slice, std::vector<std::int64_t>& damaged) {
    const auto position = runs_.log_of(slice.run_number);
    if (!position || position->state != log_state::kept || slice.ends.empty()) {
        return;
    }
    const auto [place, is_new] = tails_.try_emplace(slice.run_number);
    tail& target = place->second;
    if (is_new) {
        target.end = target.staged = end_of_rows(slice.run_number);
    }
    // A log that was dropped may begin anywhere.
    const std::uint64_t next = target.end == 0 ? slice.first_sequence : target.end + 1;
    if (slice.first_sequence > next) {
        damaged.push_back(slice.run_number);
        return;
    }
    // A process that ended while it was folding leaves entries both in a row and in a page.
    if (last_sequence(slice) >= next) {
        keep(target, part_of(slice, next - slice.first_sequence, slice.ends.size()));
        target.staged = target.end;
    }
}

// Null: there is no such run.
sqlite_log::tail* sqlite_log::tail_of(std::int64_t run_number) {
    const auto known = tails_.find(run_number);
    if (known != tails_.end()) {
        return &known->second;
    }
    if (!runs_.log_of(run_number)) {
        return nullptr;
    }
    tail opened;
    opened.end = opened.staged = last_sequence_of(run_number);
    return &tails_.emplace(run_number, std::move(opened)).first->second;
}

std::uint64_t sqlite_log::last_sequence_of(std::int64_t run_number) {
    for (const tail_map* map : {&tails_, &folding_}) {
        const auto known = map->find(run_number);
        if (known != map->end()) {
            return known->second.end;
        }
    }
    // The record outlives the log: numbers go on behind what was dropped.
    const std::uint64_t end = end_of_rows(run_number);
    const auto position = runs_.log_of(run_number);
    return position ? std::max(end, position->last_sequence) : end;
}

std::uint64_t sqlite_log::end_of_rows(std::int64_t run_number) {
    statement::rows row = end_of_run_log_.query(run_number);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

bool sqlite_log::stage(const log_slice& slice) {
    tail* const target = tail_of(slice.run_number);
    if (target == nullptr || slice.first_sequence != target->staged + 1) {
        return false;
    }
    staged_.push_back(&slice);
    page_.add(slice);
    target->staged = last_sequence(slice);
    if (page_.size() >= page_bytes_max) {
        write_page();
    }
    return true;
}

void sqlite_log::write_staged() {
    if (!page_.empty()) {
        write_page();
    }
}

void sqlite_log::write_page() {
    add_page_.execute(next_page_, blob_view{page_.finish()});
    ++next_page_;
    page_.clear();
}

void sqlite_log::erase(const std::vector<std::int64_t>& run_numbers) {
    for (const std::int64_t run_number : run_numbers) {
        erase_run_log_.execute(run_number);
        erased_.push_back(run_number);
    }
}

void sqlite_log::keep(tail& target, const log_slice& slice) {
    if (target.entries.ends.empty()) {
        target.entries = slice;
    } else {
        append_entries(target.entries, slice);
    }
    target.end = last_sequence(slice);
    tail_bytes_ += bytes_of(slice);
}

void sqlite_log::committed() noexcept {
    for (const log_slice* slice : staged_) {
        keep(tails_.find(slice->run_number)->second, *slice);
    }
    staged_.clear();
    for (const std::int64_t run_number : erased_) {
        tails_.erase(run_number);
        folding_.erase(run_number);
        // The pages still hold it.
        fold_wanted_ = true;
    }
    erased_.clear();
    fold_rests_ = false;
    start_fold_if_due();
}

void sqlite_log::rolled_back() noexcept {
    for (const log_slice* slice : staged_) {
        tail& target = tails_.find(slice->run_number)->second;
        target.staged = target.end;
    }
    staged_.clear();
    erased_.clear();
    page_.clear();
}

result<std::vector<log_entry>>
sqlite_log::read(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    const auto position = runs_.log_of(run_number);
    if (!position || position->state != log_state::kept) {
        return expired();
    }
    std::vector<log_entry> entries;
    std::uint64_t reached = after;
    const auto take = [&](const log_slice& slice) {
        copy_entries(slice, reached, limit, entries);
        reached = entries.empty() ? reached : entries.back().sequence;
    };

    {
        statement::rows row = read_run_log_.query(run_number, after);
        while (entries.size() < limit && row.next()) {
            const auto first = static_cast<std::uint64_t>(row.integer(0));
            const auto count = static_cast<std::uint32_t>(row.integer(1) - row.integer(0) + 1);
            const std::string_view payload = row.blob(3);
            if (first > reached + 1 || slice_checksum(run_number, first, count, payload) !=
                                           static_cast<std::uint64_t>(row.integer(2))) {
                return expired();
            }
            const auto slice = slice_from_payload(run_number, first, count, payload);
            if (!slice) {
                return expired();
            }
            take(*slice);
        }
    }
    for (const tail_map* map : {&folding_, &tails_}) {
        const auto known = map->find(run_number);
        if (known == map->end() || known->second.entries.ends.empty()) {
            continue;
        }
        if (known->second.entries.first_sequence > reached + 1) {
            return expired();
        }
        take(known->second.entries);
    }
    if (entries.size() < limit && reached < position->last_sequence) {
        return expired();
    }
    return entries;
}

bool sqlite_log::fold_pending() const noexcept {
    return !fold_rests_ && (!folding_.empty() || first_page_ <= fold_through_);
}

void sqlite_log::start_fold_if_due() {
    const bool folding = !folding_.empty() || first_page_ <= fold_through_;
    if (folding || (!fold_wanted_ && tail_bytes_ < fold_bytes)) {
        return;
    }
    folding_ = std::move(tails_);
    tails_.clear();
    std::erase_if(folding_, [](const auto& held) { return held.second.entries.ends.empty(); });
    tail_bytes_ = 0;
    fold_through_ = next_page_ - 1;
    fold_wanted_ = false;
}

void sqlite_log::fold_step() noexcept {
    try {
        check_failpoint("store.fold");
        if (!folding_.empty()) {
            fold_tails();
        } else {
            delete_pages();
        }
    } catch (const std::exception& error) {
        fold_rests_ = true;
        log_.log(log_level::warning, "cannot fold the log", {{"reason", error.what()}});
    }
}

void sqlite_log::fold_tails() {
    // What a tail has folded counts from the commit on: until then nothing is changed but
    // `progress`.
    std::vector<std::pair<std::int64_t, std::size_t>> progress;
    std::size_t bytes = 0;
    std::string payload;
    transaction change(db_);
    for (const auto& [run_number, held] : folding_) {
        std::size_t folded = held.folded;
        while (folded < held.entries.ends.size() && bytes < run_log_bytes &&
               progress.size() < fold_step_rows) {
            const std::size_t end = row_end(held.entries, folded);
            const log_slice part = part_of(held.entries, folded, end);
            payload.clear();
            append_payload(payload, part);
            const auto count = static_cast<std::uint32_t>(part.ends.size());
            add_run_log_.execute(
                run_number, part.first_sequence, last_sequence(part),
                slice_checksum(run_number, part.first_sequence, count, payload), blob_view{payload}
            );
            folded = end;
            bytes += payload.size();
            progress.emplace_back(run_number, folded);
        }
        if (bytes >= run_log_bytes || progress.size() >= fold_step_rows) {
            break;
        }
    }
    check_failpoint("store.folded_rows");
    change.commit();
    pass_failpoint("store.folded");
    for (const auto& [run_number, folded] : progress) {
        const auto held = folding_.find(run_number);
        held->second.folded = folded;
        if (folded == held->second.entries.ends.size()) {
            folding_.erase(held);
        }
    }
}

void sqlite_log::delete_pages() {
    const std::int64_t end = std::min(first_page_ + fold_step_pages, fold_through_ + 1);
    transaction change(db_);
    delete_pages_.execute(end);
    change.commit();
    first_page_ = end;
    // Enough may have come meanwhile for the next fold.
    start_fold_if_due();
}

} // namespace agui::session
