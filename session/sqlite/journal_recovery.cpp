#include "session/sqlite/journal_recovery.hpp"

#include "session/base/failpoint.hpp"
#include "session/sqlite/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

namespace agui::session {

log_takeover::log_takeover(sqlite_runs& runs, sqlite_log& log) : runs_(runs), log_(log) {}

log_takeover::taken_run& log_takeover::run_of(std::int64_t number) {
    const auto [found, is_new] = taken_.try_emplace(number);
    if (is_new) {
        const auto position = runs_.log_of(number);
        found->second.is_kept = position && position->state == log_state::kept;
        found->second.end = log_.end_of_rows(number);
    }
    return found->second;
}

void log_takeover::read(const journal_item& item) {
    if (item.entries.run_number == 0) {
        suspect_active();
        return;
    }
    taken_run& run = run_of(item.entries.run_number);
    if (!run.is_kept) {
        return;
    }
    if (!item.is_sound) {
        run.is_suspect = true;
    } else if (!run.is_damaged) {
        run.is_damaged = !add(run, item.entries);
    }
}

void log_takeover::suspect_active() {
    for (const store::orphan& active : runs_.active(std::nullopt)) {
        taken_run& run = run_of(active.run.number);
        run.is_suspect = true;
    }
}

// False: entries are missing, or cannot be read.
bool log_takeover::add(taken_run& run, const encoded_slice& entries) {
    const std::uint64_t last = entries.first_sequence + entries.count - 1;
    run.has_chain = run.has_chain || entry_chain::begins_with_whole_entry(entries.bytes);
    if (entries.count == 0 || last <= run.end) {
        // In rows already, where a part may be missing here; what follows the rows begins a chain.
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
    run.is_suspect = false; // What was missing is in rows.
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
        if (!run.is_kept) {
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

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.is_open() || file.bad()) {
        throw std::system_error(errno, std::generic_category(), path);
    }
    return bytes;
}

namespace {

// False: the journal's last file is missing.
bool read_files(
    const std::string& path, const std::vector<std::uint64_t>& files, std::uint64_t identity,
    std::uint64_t newest, log_takeover& to
) {
    bool is_newest_there = false;
    for (const std::uint64_t file : files) {
        const std::string bytes = read_file(journal::name_of(path, file));
        if (!is_journal(bytes, identity, file)) {
            continue; // Another journal's, or damaged: then its runs lack entries.
        }
        is_newest_there = is_newest_there || file == newest;
        for (const journal_item& item : read_journal(bytes, identity, file)) {
            to.read(item);
        }
    }
    return is_newest_there;
}

} // namespace

std::uint64_t recover_journal(
    database& db, sqlite_runs& runs, sqlite_log& log, const std::string& path, agui::logger& logger
) {
    const auto identity =
        static_cast<std::uint64_t>(db.integer("SELECT coalesce(identity, 0) FROM journal"));
    const auto newest = static_cast<std::uint64_t>(db.integer("SELECT newest FROM journal"));
    const std::vector<std::uint64_t> files = journal::files_of(path);
    if (identity != 0) {
        log_takeover found(runs, log);
        if (!read_files(path, files, identity, newest, found)) {
            found.suspect_active();
            logger.log(
                log_level::warning, "the journal is missing: logs of active runs are not served"
            );
        }
        transaction change(db);
        found.write(logger);
        db.execute("UPDATE journal SET identity = NULL");
        change.commit();
        log.committed();
        pass_failpoint("journal.recovered");
    }
    for (const std::uint64_t file : files) {
        std::error_code ignored;
        std::filesystem::remove(journal::name_of(path, file), ignored);
    }
    return std::max(newest, files.empty() ? 0 : files.back()) + 1;
}

} // namespace agui::session
