#pragma once

#include "session/sqlite/journal_format.hpp"
#include "session/sqlite/log_chunk.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_runs.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace agui::session {

/// Makes rows of the log entries that an earlier process has left outside of them. Used by one
/// thread. Throws sqlite_error.
class log_takeover {
public:
    /// The arguments must outlive this.
    log_takeover(sqlite_runs& runs, sqlite_log& log);

    /// What was found, in the order in which each run wrote it. Entries that rows hold already are
    /// passed over, and so are those of a run that has no log.
    void read(const journal_item& item);
    /// Any active run may have lost what it wrote last, up to here.
    void suspect_active();
    /// Writes the rows. A run that has lost entries is marked as damaged instead, with a warning;
    /// it does not keep the others from being read. To be called in a transaction, whose outcome
    /// `log` must be told.
    void write(agui::logger& logger);

private:
    struct taken_run {
        bool is_read = false;    ///< It may lack entries in rows.
        std::uint64_t end = 0;   ///< Of its rows and of `entries`.
        entry_chain chain;       ///< Of what was read.
        bool has_chain = false;  ///< What comes next may continue it.
        bool is_suspect = false; ///< Entries may be missing after `end`.
        bool is_damaged = false;
        chunk_list entries; ///< Those that rows do not hold.
    };

    taken_run& run_of(std::int64_t number);
    static bool add(taken_run& run, const encoded_slice& entries);
    static bool decode(taken_run& run, const encoded_slice& entries, log_slice* to);

    sqlite_runs& runs_;
    sqlite_log& log_;
    std::map<std::int64_t, taken_run> taken_;
};

/// The bytes of a file; nullopt: it is not there, or cannot be read.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

/// Brings what an earlier process has left in its journal into the tables. Repeating it does no
/// harm. The files are removed afterwards, with those of any other journal beside this store.
///
/// `path` is the journal's (journal::settings). Returns the number for the next file. To be called
/// before any run begins. Throws sqlite_error.
[[nodiscard]] std::uint64_t recover_journal(
    database& db, sqlite_runs& runs, sqlite_log& log, const std::string& path, agui::logger& logger
);

} // namespace agui::session
