#include "session/sqlite/sqlite_log.hpp"

#include "session/base/failpoint.hpp"
#include "session/base/lean_append.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>

namespace agui::session {

namespace {

// The tails are folded once they hold this much together. Memory, pages on disk and the time to
// open the store after a crash grow with it.
constexpr std::size_t fold_bytes = 256U << 10U;
// Rows per step of folding, so that commits wait for a few milliseconds at most.
constexpr std::size_t fold_step_rows = 32;
constexpr std::int64_t fold_step_pages = 128;
// A page is one BLOB, which SQLite limits to 10^9 bytes.
constexpr std::size_t page_bytes_max = 16U << 20U;

// Appends the slice's entries with a sequence above `after`, until there are `limit` in all. False:
// the slice is damaged.
bool copy_entries(
    const encoded_slice& slice, std::uint64_t after, std::size_t limit,
    std::vector<log_entry>& entries
) {
    entry_chain chain;
    std::string_view rest = slice.bytes;
    log_entry entry;
    for (std::uint32_t i = 0; i < slice.count && entries.size() < limit; ++i) {
        const std::uint64_t sequence = slice.first_sequence + i;
        if (!chain.decode(sequence, rest, entry)) {
            return false;
        }
        if (sequence > after) {
            entries.push_back(entry);
        }
    }
    return true;
}

} // namespace

sqlite_log::sqlite_log(database& db, sqlite_runs& runs, agui::logger& log)
    : db_(db),
      runs_(runs),
      log_(log),
      add_page_(db, "INSERT INTO log_pages (page, slices) VALUES (?, ?)"),
      delete_pages_(db, "DELETE FROM log_pages WHERE page < ?"),
      add_run_log_(
          db, "INSERT INTO run_logs (run, first_sequence, last_sequence, bytes, checksum, payload) "
              "VALUES (?, ?, ?, ?, ?, ?)"
      ),
      read_run_log_(
          db, "SELECT first_sequence, last_sequence, checksum, payload FROM run_logs "
              "WHERE run = ? AND last_sequence > ? ORDER BY first_sequence"
      ),
      end_of_run_log_(
          db,
          "SELECT last_sequence FROM run_logs WHERE run = ? ORDER BY first_sequence DESC LIMIT 1"
      ),
      bytes_of_run_log_(db, "SELECT coalesce(sum(bytes), 0) FROM run_logs WHERE run = ?"),
      erase_run_log_(db, "DELETE FROM run_logs WHERE run = ?") {}

void sqlite_log::use(log_ring& ring) noexcept {
    ring_ = &ring;
    taken_ = ring.end();
}

void sqlite_log::take_live(log_ring::place until) {
    log_ring::place behind = taken_;
    while (const auto record = ring_->next(behind, until)) {
        const encoded_slice& slice = record->slice;
        tail* const target = slice.count == 0 ? nullptr : tail_of(slice.run_number);
        // Otherwise there is nothing to keep, or the run was removed in the meantime.
        if (target != nullptr && slice.first_sequence == target->end + 1) {
            keep(*target, slice);
            target->staged = target->end;
            target->chain.restart();
            target->open_bytes = open_bytes_of(*target);
        }
        taken_ = behind;
    }
    taken_ = until;
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

void sqlite_log::run_begun(std::int64_t run_number) {
    tail begun;
    begun.is_live = true;
    tails_.insert_or_assign(run_number, std::move(begun));
}

void sqlite_log::run_ended(std::int64_t run_number) {
    if (const auto known = tails_.find(run_number); known != tails_.end()) {
        known->second.is_live = false;
    }
}

std::uint64_t sqlite_log::last_sequence_of(std::int64_t run_number) {
    for (const tail_map* map : {&tails_, &folding_}) {
        const auto known = map->find(run_number);
        if (known != map->end()) {
            return known->second.end;
        }
    }
    // The record outlives the log: numbering continues after what was dropped.
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
    if (target->open_bytes >= chain_bytes_max) {
        target->chain.restart();
        target->open_bytes = 0;
    }
    // First, so that rolled_back() resets the run's tail if anything below throws.
    staged_slice& staged = staged_.emplace_back();
    staged.slice.run_number = slice.run_number;
    staged.slice.first_sequence = slice.first_sequence;
    staged.slice.count = static_cast<std::uint32_t>(slice.ends.size());
    staged.offset = staged_bytes_.size();
    encode_entries(slice, target->chain, staged_bytes_);
    staged.size = staged_bytes_.size() - staged.offset;
    encoded_slice encoded = staged.slice;
    encoded.bytes = std::string_view(staged_bytes_).substr(staged.offset);
    page_.add(encoded);
    target->open_bytes += staged.size;
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
        erased_row_bytes_ += row_bytes_of(run_number);
        erase_run_log_.execute(run_number);
        erased_.push_back(run_number);
    }
}

std::size_t sqlite_log::open_bytes_of(const tail& target) noexcept {
    return target.chunks.empty() ? 0 : target.chunks.back().bytes.size();
}

void sqlite_log::keep(tail& target, const encoded_slice& slice) {
    const bool is_full = open_bytes_of(target) >= chain_bytes_max;
    if (target.chunks.empty() || (is_full && entry_chain::begins_with_whole_entry(slice.bytes))) {
        target.chunks.push_back({slice.first_sequence, 0, {}});
    }
    chunk& last = target.chunks.back();
    lean_append(last.bytes, slice.bytes); // First, because it can throw.
    last.count += slice.count;
    target.end = slice.first_sequence + slice.count - 1;
    tail_bytes_ += slice.bytes.size();
}

void sqlite_log::committed() noexcept {
    for (staged_slice& staged : staged_) {
        staged.slice.bytes = std::string_view(staged_bytes_).substr(staged.offset, staged.size);
        keep(tails_.find(staged.slice.run_number)->second, staged.slice);
    }
    staged_bytes_.clear();
    if (staged_bytes_.capacity() > page_bytes_max) {
        std::string().swap(staged_bytes_); // Grown while the disk was stalled; usually it is small.
    }
    staged_.clear();
    for (const std::int64_t run_number : erased_) {
        tails_.erase(run_number);
        folding_.erase(run_number);
        // Pages and ring still hold its latest entries; the next fold removes them.
        fold_wanted_ = true;
    }
    erased_.clear();
    row_bytes_ -= std::exchange(erased_row_bytes_, 0);
}

void sqlite_log::rolled_back() noexcept {
    for (const staged_slice& staged : staged_) {
        tail& target = tails_.find(staged.slice.run_number)->second;
        target.staged = target.end;
        target.chain.restart();
        target.open_bytes = open_bytes_of(target);
    }
    staged_.clear();
    staged_bytes_.clear();
    erased_.clear();
    erased_row_bytes_ = 0;
    page_.clear();
}

result<std::vector<log_entry>>
sqlite_log::read(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    const auto position = runs_.log_of(run_number);
    if (!position || position->state != log_state::kept) {
        return log_is_gone();
    }
    std::vector<log_entry> entries;
    std::uint64_t reached = after;
    const auto take = [&](const encoded_slice& slice) {
        const bool sound =
            slice.first_sequence <= reached + 1 && copy_entries(slice, reached, limit, entries);
        reached = entries.empty() ? reached : entries.back().sequence;
        return sound;
    };

    {
        statement::rows row = read_run_log_.query(run_number, after);
        while (entries.size() < limit && row.next()) {
            const auto first = static_cast<std::uint64_t>(row.integer(0));
            const auto count = static_cast<std::uint32_t>(row.integer(1) - row.integer(0) + 1);
            const encoded_slice slice{run_number, first, count, row.blob(3)};
            if (checksum_of(slice) != static_cast<std::uint64_t>(row.integer(2)) || !take(slice)) {
                return log_is_gone();
            }
        }
    }
    for (const tail_map* map : {&folding_, &tails_}) {
        const auto known = map->find(run_number);
        if (known == map->end()) {
            continue;
        }
        for (const chunk& held : known->second.chunks) {
            const bool behind = held.first_sequence + held.count <= reached + 1;
            if (entries.size() < limit && !behind &&
                !take({run_number, held.first_sequence, held.count, held.bytes})) {
                return log_is_gone();
            }
        }
    }
    if (entries.size() < limit && reached < position->last_sequence) {
        return log_is_gone();
    }
    return entries;
}

std::uint64_t sqlite_log::row_bytes_of(std::int64_t run_number) {
    statement::rows row = bytes_of_run_log_.query(run_number);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

bool sqlite_log::is_folding() const noexcept {
    return !folding_.empty() || first_page_ <= fold_through_;
}

bool sqlite_log::fold_is_due() const noexcept {
    return fold_wanted_ || tail_bytes_ >= fold_bytes || (ring_ != nullptr && ring_->is_half_full());
}

bool sqlite_log::fold_pending() const noexcept {
    return !fold_rests_ && (is_folding() || fold_is_due() || wants_segment());
}

bool sqlite_log::wants_segment() const noexcept { return ring_ != nullptr && ring_->can_prepare(); }

bool sqlite_log::fold_starts() const noexcept {
    return !fold_rests_ && !is_folding() && fold_is_due();
}

void sqlite_log::start_fold() {
    for (auto held = tails_.begin(); held != tails_.end();) {
        tail& from = held->second;
        if (!from.chunks.empty()) {
            tail& to = folding_[held->first];
            to.end = from.end;
            to.chunks = std::exchange(from.chunks, {});
            from.chain = entry_chain();
            from.open_bytes = 0;
        }
        held = from.is_live ? std::next(held) : tails_.erase(held);
    }
    tail_bytes_ = 0;
    fold_through_ = next_page_ - 1;
    fold_ring_through_ = taken_;
    fold_wanted_ = false;
}

void sqlite_log::fold_step(bool may_start) noexcept {
    try {
        if (is_folding() || may_start) {
            check_failpoint("store.fold");
        }
        if (!folding_.empty()) {
            fold_tails();
        } else if (is_folding()) {
            delete_pages();
        } else if (may_start) {
            start_fold();
        } else if (wants_segment()) {
            ring_->prepare();
        }
        if (folding_.empty() && ring_ != nullptr) {
            ring_->release(fold_ring_through_);
        }
        fold_fails_ = false;
    } catch (const std::exception& error) {
        fold_rests_ = true;
        if (!std::exchange(fold_fails_, true)) {
            log_.log(log_level::warning, "cannot fold the log", {{"reason", error.what()}});
        }
    }
}

bool sqlite_log::fold_all() noexcept {
    fold_wanted_ = true;
    fold_rests_ = false;
    while (!fold_rests_ && (is_folding() || fold_is_due())) {
        fold_step(true); // No more entries will come.
    }
    return !fold_rests_;
}

void sqlite_log::fold_tails() {
    // What is folded counts only after the commit: until then only `progress` changes.
    std::vector<std::pair<std::int64_t, std::size_t>> progress;
    std::size_t bytes = 0;
    transaction change(db_);
    for (const auto& [run_number, held] : folding_) {
        std::size_t folded = held.folded;
        while (folded < held.chunks.size() && bytes < chain_bytes_max &&
               progress.size() < fold_step_rows) {
            const chunk& row = held.chunks[folded];
            const encoded_slice slice{run_number, row.first_sequence, row.count, row.bytes};
            add_run_log_.execute(
                run_number, row.first_sequence, row.first_sequence + row.count - 1,
                std::uint64_t{row.bytes.size()}, checksum_of(slice), blob_view{row.bytes}
            );
            ++folded;
            bytes += row.bytes.size();
            progress.emplace_back(run_number, folded);
        }
        if (bytes >= chain_bytes_max || progress.size() >= fold_step_rows) {
            break;
        }
    }
    check_failpoint("store.folded_rows");
    change.commit();
    pass_failpoint("store.folded");
    row_bytes_ += bytes;
    for (const auto& [run_number, folded] : progress) {
        const auto held = folding_.find(run_number);
        held->second.folded = folded;
        if (folded == held->second.chunks.size()) {
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
}

} // namespace agui::session
