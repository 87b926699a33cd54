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

/// The logs of all runs: rows of run_logs and, of open runs, what live_logs has besides. A run is
/// open from its start to its end. The transaction that ends it writes the rest of its log as rows;
/// a long log gets rows in between.
///
/// Runs on the store's thread. The functions of the first group must be called in a transaction,
/// whose outcome committed() or rolled_back() reports. Throws sqlite_error.
class sqlite_log {
public:
    /// The arguments must outlive this.
    sqlite_log(database& db, sqlite_runs& runs, live_logs& live, journal& files, agui::logger& log);

    /// The run has begun, or goes on: entries after `end` may come.
    void open(std::int64_t run_number, std::uint64_t end) { opened_[run_number] = end; }
    /// Writes what an open run has as rows and, if given, `slice` after it. `end` is where its log
    /// ends (last_sequence_of() before the transaction changes the run's record). False, without
    /// effect: there is no such run, or the slice does not continue its log because earlier entries
    /// failed.
    [[nodiscard]] bool
    write(std::int64_t run_number, std::uint64_t end, const log_slice* slice = nullptr);
    /// The run has ended, or was removed.
    void close(std::int64_t run_number) { closed_.push_back(run_number); }
    /// Writes chunks that an earlier process has left as rows.
    void add_rows(std::int64_t run_number, const chunk_list& rows);
    /// Deletes the rows of these runs.
    void erase(const std::vector<std::int64_t>& run_numbers);

    void committed() noexcept;
    void rolled_back() noexcept;

    // Upkeep, in transactions of its own. A failure is logged once, until one succeeds.

    /// True while keep_up() has something to do.
    [[nodiscard]] bool has_upkeep() const noexcept;
    /// Looks for upkeep; to be called when append() said that some is due.
    void look_for_upkeep();
    /// Writes rows for runs that have said much, makes the journal's next file, or removes those
    /// that nobody needs. After a failure it rests until look_for_upkeep() or committed().
    void keep_up() noexcept;
    /// Writes rows for all open runs, after which the journal is not needed. False: it failed.
    [[nodiscard]] bool write_all() noexcept;
    /// Makes the journal's first file, with this number; to be called once. If that fails, there is
    /// a warning, and all entries are refused until keep_up() has made it.
    void start_journal(std::uint64_t first_file) noexcept;

    // Reading.

    /// As store::read_log().
    [[nodiscard]] result<std::vector<log_entry>>
    read(std::int64_t run_number, std::uint64_t after, std::size_t limit);
    /// Where the run's log ends, even if it was dropped; 0: it never had an entry.
    [[nodiscard]] std::uint64_t last_sequence_of(std::int64_t run_number);
    /// Where the run's rows end; 0: it has none.
    [[nodiscard]] std::uint64_t end_of_rows(std::int64_t run_number);
    /// The size of all rows.
    [[nodiscard]] std::uint64_t row_bytes() const noexcept { return row_bytes_; }
    /// The same of one run.
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

    // Of the current transaction:
    std::map<std::int64_t, std::uint64_t> written_; ///< Where the logs end that it has written.
    std::map<std::int64_t, std::uint64_t> opened_;  ///< Where the logs go on that it has opened.
    std::vector<std::int64_t> closed_;
    std::uint64_t added_bytes_ = 0;
    std::uint64_t erased_bytes_ = 0;

    std::uint64_t row_bytes_ = 0;
    std::uint64_t oldest_file_ = 0; ///< Of the journal, as the tables have it,
    std::uint64_t newest_file_ = 0; ///< and its last.
    std::uint64_t made_file_ = 0;   ///< One that exists; the tables may not know of it yet.
    bool removal_is_due_ = false;
    std::set<std::int64_t> due_; ///< The runs for which rows should be written.
    bool rests_ = false;         ///< The last upkeep failed.
    bool fails_ = false;         ///< The log says so.
    std::string encoded_;
};

} // namespace agui::session
