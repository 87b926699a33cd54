#pragma once

#include "session/sqlite/journal.hpp"
#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/log_chunk.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace agui::session {

/// The logs of all runs: rows of run_logs and, for open runs, the entries in live_logs. A run is
/// open from its start to its end. The transaction that ends it writes the rest of its log as rows;
/// a long log gets rows in between.
///
/// Runs on the store's thread. The functions of the first group must be called in a transaction,
/// whose outcome committed() or rolled_back() reports. Throws sqlite_error.
class sqlite_log {
public:
    /// The arguments must outlive this.
    sqlite_log(database& db, sqlite_runs& runs, live_logs& live, journal& files, agui::logger& log);

    /// Opens a run that has begun or continues: entries after `end` may be appended.
    void open(std::int64_t run_number, std::uint64_t end) { opened_[run_number] = end; }
    /// Writes the entries of an open run as rows and, if given, `slice` after them. `end` is the
    /// end of its log (last_sequence_of() before the transaction changes the run's record). Returns
    /// false, without effect, if there is no such run, or if the slice does not continue its log
    /// because earlier entries failed.
    [[nodiscard]] bool
    write(std::int64_t run_number, std::uint64_t end, const log_slice* slice = nullptr);
    /// Closes a run that has ended or was removed.
    void close(std::int64_t run_number) { closed_.push_back(run_number); }
    /// Writes chunks that an earlier process has left as rows.
    void add_rows(std::int64_t run_number, const chunk_list& rows);
    /// Deletes the rows of these runs.
    void erase(const std::vector<std::int64_t>& run_numbers);

    void committed() noexcept;
    void rolled_back() noexcept;

    // Upkeep, in transactions of its own. A failure is logged once, until one succeeds.

    /// True while keep_up() has work to do.
    [[nodiscard]] bool has_upkeep() const noexcept;
    /// Looks for upkeep. Call it when append() reported that some is due.
    void look_for_upkeep();
    /// Writes rows for runs with many entries, makes the journal's next file, or removes files that
    /// are no longer needed. After a failure it pauses until look_for_upkeep() or committed().
    void keep_up() noexcept;
    /// Writes rows for all open runs, after which the journal is not needed. Returns false if that
    /// failed.
    [[nodiscard]] bool write_all() noexcept;
    /// The same, and then removes the journal's present files: later entries go to a new one.
    /// Returns false if that failed.
    [[nodiscard]] bool leave_journal() noexcept;
    /// Makes the journal's first file, with this number. Call it once. If it fails, it logs a
    /// warning, and all entries are refused until keep_up() has made the file.
    void start_journal(std::uint64_t first_file) noexcept;

    // Reading.

    /// Like store::read_log().
    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);
    /// The end of the run's log, even if it was dropped; 0 if it never had an entry.
    [[nodiscard]] std::uint64_t last_sequence_of(std::int64_t run_number);
    /// The end of the run's rows; 0 if it has none.
    [[nodiscard]] std::uint64_t end_of_rows(std::int64_t run_number);
    /// The size of all rows.
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
    /// The size of one run's rows.
    [[nodiscard]] std::uint64_t row_bytes_of(std::int64_t run_number);

private:
    void attempt(void (sqlite_log::*step)()) noexcept;
    void add_file();
    void write_some_rows();
    void remove_files();
    void note_files(std::uint64_t oldest, std::uint64_t newest);
    [[nodiscard]] std::uint64_t first_needed_file() noexcept;

    database& db_;
    sqlite_runs& runs_;
    live_logs& live_;
    journal& journal_;
    agui::logger& log_;
    statement add_row_;
    statement read_rows_;
    statement end_of_rows_;
    statement bytes_of_rows_;
    statement erase_rows_;

    // State of the current transaction:
    std::map<std::int64_t, std::uint64_t> written_; ///< Ends of the logs that it has written.
    std::map<std::int64_t, std::uint64_t> opened_;  ///< Ends of the logs that it has opened.
    std::vector<std::int64_t> closed_;
    std::uint64_t added_bytes_ = 0;
    std::uint64_t erased_bytes_ = 0;

    std::uint64_t row_bytes_ = 0;
    std::uint64_t oldest_file_ = 0; ///< First file of the journal in the tables,
    std::uint64_t newest_file_ = 0; ///< and its last.
    std::uint64_t made_file_ = 0;   ///< One that exists; the tables may not know of it yet.
    bool removal_is_due_ = false;
    std::set<std::int64_t> due_; ///< The runs for which rows should be written.
    bool rests_ = false;         ///< The last upkeep failed.
    bool fails_ = false;         ///< The failure has been logged.
    std::string encoded_;
};

} // namespace agui::session
