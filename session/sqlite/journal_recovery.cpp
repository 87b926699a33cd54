#include "session/sqlite/journal_recovery.hpp"

#include "session/base/failpoint.hpp"
#include "session/sqlite/journal.hpp"
#include "session/sqlite/journal_format.hpp"
#include "session/sqlite/log_chunk.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

namespace agui::session {

namespace {

/// Makes rows of the log entries that an earlier process left only in the journal.
class log_takeover {
public:
    /// The arguments must outlive this.
    log_takeover(sqlite_runs& runs, sqlite_log& log);

    /// Takes the items in the order in which each run wrote them. Entries that rows already hold
    /// are skipped, and so are those of a run that has no log.
    void read(const journal_item& item);
    /// Notes that any active run may have lost its last entries up to here.
    void suspect_active();
    /// Writes the rows. A run that has lost entries is marked as damaged instead, with a warning;
    /// the others can still be read. Call it in a transaction, and report the outcome to `log`.
    void write(agui::logger& logger);

private:
    struct taken_run {
        bool is_read = false;    ///< False if it may lack entries in rows.
        std::uint64_t end = 0;   ///< End of its rows and of `entries`.
        entry_chain chain;       ///< State after the entries read so far.
        bool has_chain = false;  ///< The next entries may continue the chain.
        bool is_suspect = false; ///< Entries may be missing after `end`.
        bool is_damaged = false;
        chunk_list entries; ///< Entries that rows do not hold.
    };

    taken_run& run_of(std::int64_t number);
    static bool add(taken_run& run, const encoded_slice& entries);
    static bool decode(taken_run& run, const encoded_slice& entries, log_slice* to);

    sqlite_runs& runs_;
    sqlite_log& log_;
    std::map<std::int64_t, taken_run> taken_;
};

log_takeover::log_takeover(sqlite_runs& runs, sqlite_log& log) : runs_(runs), log_(log) {}

log_takeover::taken_run& log_takeover::run_of(std::int64_t number) {
    const auto [found, is_new] = taken_.try_emplace(number);
    if (is_new) {
        const auto position = runs_.log_of(number);
        found->second.end = log_.end_of_rows(number);
        // The log of a run that has ended, and is in rows, lacks nothing.
        found->second.is_read =
            position && position->state == log_state::kept &&
            (position->last_sequence == 0 || found->second.end < position->last_sequence);
    }
    return found->second;
}

void log_takeover::read(const journal_item& item) {
    if (item.entries.run_number == 0) {
        suspect_active();
        return;
    }
    taken_run& run = run_of(item.entries.run_number);
    if (!run.is_read) {
        return;
    }
    if (!item.is_sound) {
        // If only the entries are damaged, their sequences are known.
        const std::uint64_t end = item.entries.first_sequence + item.entries.count;
        run.is_suspect = run.is_suspect || item.entries.count == 0 || end > run.end + 1;
    } else if (!run.is_damaged) {
        run.is_damaged = !add(run, item.entries);
    }
}

void log_takeover::suspect_active() {
    for (const sqlite_runs::active_run& active : runs_.active(std::nullopt)) {
        taken_run& run = run_of(active.run.number);
        run.is_suspect = true;
    }
}

// Returns false if entries are missing or cannot be read.
bool log_takeover::add(taken_run& run, const encoded_slice& entries) {
    const std::uint64_t last = entries.first_sequence + entries.count - 1;
    run.has_chain = run.has_chain || entry_chain::begins_with_whole_entry(entries.bytes);
    if (entries.count == 0 || last <= run.end) {
        // The entries are already in rows, and some may be missing here; the entries after the rows
        // begin a chain.
        run.has_chain = run.has_chain && decode(run, entries, nullptr);
        return true;
    }
    if (entries.first_sequence != run.end + 1 || !run.has_chain) {
        return false;
    }
    log_slice decoded;
    decoded.first_sequence = entries.first_sequence;
    if (!decode(run, entries, &decoded)) {
        return false;
    }
    std::string encoded;
    run.entries.append(decoded, encoded);
    run.end = last;
    run.is_suspect = false; // The missing entries are in rows.
    return true;
}

bool log_takeover::decode(taken_run& run, const encoded_slice& entries, log_slice* to) {
    std::string_view rest = entries.bytes;
    log_entry entry;
    for (std::uint32_t i = 0; i < entries.count; ++i) {
        if (!run.chain.decode(entries.first_sequence + i, rest, entry)) {
            return false;
        }
        if (to != nullptr) {
            to->events += entry.json;
            to->ends.push_back(static_cast<std::uint32_t>(to->events.size()));
            if (!entry.variants.empty()) {
                to->variants.emplace_back(i, entry.variants);
            }
        }
    }
    return rest.empty();
}

void log_takeover::write(agui::logger& logger) {
    for (const auto& [number, run] : taken_) {
        if (!run.is_read) {
            continue;
        }
        if (!run.is_damaged && !run.is_suspect) {
            log_.add_rows(number, run.entries);
            continue;
        }
        runs_.set_log_state(number, log_state::damaged);
        logger.log(
            log_level::warning, "a part of a run's log is damaged: the log is not served",
            {{"run", std::to_string(number)}}
        );
    }
}

// Returns nullopt if the file does not exist or cannot be read.
std::optional<std::string> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return file.is_open() && !file.bad() ? std::optional(std::move(bytes)) : std::nullopt;
}

// The numbers of a journal's files according to the tables.
struct file_range {
    std::uint64_t oldest = 0;
    std::uint64_t newest = 0;
};

// Returns false if a file of the journal is missing, cannot be read or belongs to another journal.
bool read_files(
    const std::string& path, const file_range& files, std::uint64_t identity, log_takeover& to
) {
    bool are_all_there = true;
    for (std::uint64_t file = files.oldest; file <= files.newest; ++file) {
        const auto bytes = read_file(journal::name_of(path, file));
        if (!bytes || !is_journal(*bytes, identity, file)) {
            are_all_there = false;
            to.suspect_active();
            continue;
        }
        for (const journal_item& item : read_journal(*bytes, identity, file)) {
            to.read(item);
        }
    }
    return are_all_there;
}

} // namespace

std::uint64_t recover_journal(
    database& db, sqlite_runs& runs, sqlite_log& log, const std::string& path, agui::logger& logger
) {
    const auto identity =
        static_cast<std::uint64_t>(db.integer("SELECT coalesce(identity, 0) FROM journal"));
    const file_range known{
        static_cast<std::uint64_t>(db.integer("SELECT oldest FROM journal")),
        static_cast<std::uint64_t>(db.integer("SELECT newest FROM journal"))
    };
    if (identity != 0) {
        log_takeover found(runs, log);
        if (!read_files(path, known, identity, found)) {
            logger.log(
                log_level::warning,
                "a file of the journal is missing or damaged: logs of active runs may not be served"
            );
        }
        transaction change(db);
        found.write(logger);
        db.execute("UPDATE journal SET identity = NULL");
        change.commit();
        log.committed();
        pass_failpoint("journal.recovered");
    }
    const std::vector<std::uint64_t> files = journal::files_of(path);
    for (const std::uint64_t file : files) {
        std::error_code ignored;
        std::filesystem::remove(journal::name_of(path, file), ignored);
    }
    return std::max(known.newest, files.empty() ? 0 : files.back()) + 1;
}

} // namespace agui::session
