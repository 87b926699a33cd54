#include "session/sqlite/sqlite_log.hpp"

#include "session/base/failpoint.hpp"
#include "session/store/store_failures.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace agui::session {

namespace {

// Number of runs that get rows in one transaction: commits wait for a few milliseconds at most.
constexpr std::size_t runs_at_once = 8;

} // namespace

sqlite_log::sqlite_log(
    database& db, sqlite_runs& runs, live_logs& live, journal& files, agui::logger& log
)
    : db_(db),
      runs_(runs),
      live_(live),
      journal_(files),
      log_(log),
      add_row_(
          db, "INSERT INTO run_logs (run, first_sequence, last_sequence, bytes, checksum, payload) "
              "VALUES (?, ?, ?, ?, ?, ?)"
      ),
      read_rows_(
          db, "SELECT first_sequence, last_sequence, checksum, payload FROM run_logs "
              "WHERE run = ? AND last_sequence > ? ORDER BY first_sequence"
      ),
      end_of_rows_(
          db,
          "SELECT last_sequence FROM run_logs WHERE run = ? ORDER BY first_sequence DESC LIMIT 1"
      ),
      bytes_of_rows_(db, "SELECT coalesce(sum(bytes), 0) FROM run_logs WHERE run = ?"),
      erase_rows_(db, "DELETE FROM run_logs WHERE run = ?"),
      row_bytes_(
          static_cast<std::uint64_t>(db.integer("SELECT coalesce(sum(bytes), 0) FROM run_logs"))
      ) {}

bool sqlite_log::write(std::int64_t run_number, std::uint64_t end, const log_slice* slice) {
    const auto known = written_.find(run_number);
    // Gather once in a transaction: the entries are then in its rows.
    const bool is_first = known == written_.end();
    const chunk_list* const gathered = is_first ? live_.gather(run_number) : nullptr;
    if (is_first && gathered == nullptr && !runs_.log_of(run_number)) {
        return false;
    }
    end = is_first ? end : known->second;
    if (slice != nullptr && slice->first_sequence != end + 1) {
        return false;
    }
    chunk_list rows;
    if (gathered != nullptr) {
        rows = *gathered;
    }
    if (slice != nullptr) {
        rows.append(*slice, encoded_);
        end = last_sequence(*slice);
    }
    // Set this first: staged state is dropped if anything below throws.
    written_[run_number] = end;
    add_rows(run_number, rows);
    return true;
}

void sqlite_log::add_rows(std::int64_t run_number, const chunk_list& rows) {
    for (const log_chunk& row : rows.chunks()) {
        add_row_.execute(
            run_number, row.first_sequence, row.last_sequence(), std::uint64_t{row.bytes.size()},
            checksum_of(row.as_slice(run_number)), blob_view{row.bytes}
        );
    }
    added_bytes_ += rows.bytes();
}

void sqlite_log::erase(const std::vector<std::int64_t>& run_numbers) {
    for (const std::int64_t run_number : run_numbers) {
        erased_bytes_ += row_bytes_of(run_number);
        erase_rows_.execute(run_number);
    }
}

void sqlite_log::committed() noexcept {
    for (const auto& [run_number, end] : opened_) {
        live_.open(run_number, end);
    }
    for (const auto& [run_number, end] : written_) {
        live_.put_in_rows(run_number, end);
    }
    for (const std::int64_t run_number : closed_) {
        live_.close(run_number);
    }
    row_bytes_ += added_bytes_;
    row_bytes_ -= erased_bytes_;
    rolled_back();
    removal_is_due_ = oldest_file_ < newest_file_ && first_needed_file() > oldest_file_;
    rests_ = false;
}

void sqlite_log::rolled_back() noexcept {
    opened_.clear();
    written_.clear();
    closed_.clear();
    added_bytes_ = 0;
    erased_bytes_ = 0;
}

void sqlite_log::look_for_upkeep() {
    for (const std::int64_t run_number : live_.take_due()) {
        due_.insert(run_number);
    }
    rests_ = false;
}

bool sqlite_log::has_upkeep() const noexcept {
    return !rests_ && (!due_.empty() || removal_is_due_ || journal_.needs_file());
}

void sqlite_log::keep_up() noexcept {
    // A failed step must not block the others.
    rests_ = false;
    if (!due_.empty()) {
        attempt(&sqlite_log::write_some_rows);
    }
    if (removal_is_due_) {
        attempt(&sqlite_log::remove_files);
    }
    if (journal_.needs_file()) {
        attempt(&sqlite_log::add_file);
    }
    if (!rests_ && std::exchange(fails_, false)) {
        log_.log(log_level::info, "the upkeep of the journal works again");
    }
}

void sqlite_log::attempt(void (sqlite_log::*step)()) noexcept {
    try {
        (this->*step)();
    } catch (const std::exception& error) {
        rolled_back();
        rests_ = true;
        if (!std::exchange(fails_, true)) {
            log_.log(
                log_level::error, "the upkeep of the journal has failed", {{"reason", error.what()}}
            );
        }
    }
}

// The tables know of the file before anything is written to it: a file that is missing when the
// store is opened is then noticed.
void sqlite_log::add_file() {
    if (made_file_ <= newest_file_) {
        journal_.make_file(newest_file_ + 1);
        made_file_ = newest_file_ + 1;
    }
    note_files(oldest_file_, made_file_);
    pass_failpoint("journal.made");
    journal_.use_file();
    // A run with few entries must not keep a whole file: the last two are enough for the others.
    for (const std::int64_t run_number : live_.with_entries_before(newest_file_ - 1)) {
        due_.insert(run_number);
    }
}

// The tables know which files are there before one is removed.
void sqlite_log::remove_files() {
    removal_is_due_ = false;
    const std::uint64_t first = first_needed_file();
    note_files(first, newest_file_);
    pass_failpoint("journal.removing");
    journal_.remove_before(first);
}

void sqlite_log::note_files(std::uint64_t oldest, std::uint64_t newest) {
    statement update(db_, "UPDATE journal SET identity = ?, oldest = ?, newest = ?");
    update.execute(journal_.identity(), oldest, newest);
    oldest_file_ = oldest;
    newest_file_ = newest;
}

std::uint64_t sqlite_log::first_needed_file() noexcept {
    // Read this first: meanwhile a run may continue in the next file, but none in an earlier one.
    const std::uint64_t current = journal_.current();
    return std::min(current, live_.first_file().value_or(current));
}

void sqlite_log::write_some_rows() {
    const std::size_t count = std::min(due_.size(), runs_at_once);
    check_failpoint("store.keep_up");
    transaction change(db_);
    const auto end = std::next(due_.begin(), static_cast<std::ptrdiff_t>(count));
    std::for_each(due_.begin(), end, [this](std::int64_t run_number) {
        (void)write(run_number, last_sequence_of(run_number));
    });
    check_failpoint("store.rows_written");
    change.commit();
    pass_failpoint("store.rows_committed");
    committed();
    due_.erase(due_.begin(), end);
}

bool sqlite_log::write_all() noexcept {
    try {
        for (const std::int64_t run_number : live_.with_entries()) {
            due_.insert(run_number);
        }
        while (!due_.empty()) {
            write_some_rows();
        }
        return true;
    } catch (const std::exception& error) {
        rolled_back();
        log_.log(log_level::error, "cannot write to the store", {{"reason", error.what()}});
        return false;
    }
}

bool sqlite_log::leave_journal() noexcept {
    try {
        add_file();
        journal_.leave_file();
        // Only now, because entries may have been appended to the old file meanwhile.
        if (!write_all()) {
            return false;
        }
        remove_files();
        return true;
    } catch (const std::exception& error) {
        log_.log(log_level::error, "the journal could not be renewed", {{"reason", error.what()}});
        return false;
    }
}

result<std::vector<log_entry>>
sqlite_log::read(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    const auto position = runs_.log_of(run_number);
    if (!position || position->state != log_state::kept) {
        return log_is_gone();
    }
    std::vector<log_entry> entries;
    std::uint64_t reached = after;
    {
        statement::rows row = read_rows_.query(run_number, after);
        while (entries.size() < limit && row.next()) {
            const auto first = static_cast<std::uint64_t>(row.integer(0));
            const auto count = static_cast<std::uint32_t>(row.integer(1) - row.integer(0) + 1);
            const encoded_slice slice{run_number, first, count, row.blob(3)};
            if (checksum_of(slice) != static_cast<std::uint64_t>(row.integer(2)) ||
                first > reached + 1 || !decode_entries(slice, reached, limit, entries)) {
                return log_is_gone();
            }
            reached = entries.empty() ? reached : entries.back().sequence;
        }
    }
    if (entries.size() < limit && !live_.read(run_number, reached, limit, entries)) {
        return log_is_gone();
    }
    reached = entries.empty() ? reached : entries.back().sequence;
    if (entries.size() < limit && reached < position->last_sequence) {
        return log_is_gone();
    }
    return entries;
}

std::uint64_t sqlite_log::last_sequence_of(std::int64_t run_number) {
    if (const auto end = live_.end_of(run_number)) {
        return *end;
    }
    // The record outlives the log: numbering continues after the dropped entries.
    const std::uint64_t end = end_of_rows(run_number);
    const auto position = runs_.log_of(run_number);
    return position ? std::max(end, position->last_sequence) : end;
}

void sqlite_log::start_journal(std::uint64_t first_file) noexcept {
    oldest_file_ = first_file;
    newest_file_ = made_file_ = first_file - 1;
    keep_up();
}

std::uint64_t sqlite_log::end_of_rows(std::int64_t run_number) {
    statement::rows row = end_of_rows_.query(run_number);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

std::uint64_t sqlite_log::row_bytes_of(std::int64_t run_number) {
    statement::rows row = bytes_of_rows_.query(run_number);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

} // namespace agui::session
