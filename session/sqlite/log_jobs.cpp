#include "session/sqlite/log_jobs.hpp"

#include "session/store/store_failures.hpp"

#include <sqlite3.h>

#include <string>

namespace agui::session {

namespace {

// Logs are dropped in portions, so that other calls can run in between.
constexpr std::size_t dropped_at_once = 64;
constexpr std::uint64_t dropped_bytes_at_once = 2U << 20U; // The last log may exceed it.
// Failed attempts may take this part of the limit for logs, in addition to it: a broken model
// server must not displace the logs.
constexpr std::uint64_t attempts_part = 8;

} // namespace

result<std::vector<log_entry>>
log_jobs::read(std::int64_t run_number, std::uint64_t after, std::size_t limit) {
    try {
        return tables_.log.read(run_number, after, limit);
    } catch (const sqlite_error& error) {
        if ((error.code() & 0xff) != SQLITE_CORRUPT) {
            throw;
        }
        // The rest of the file may be sound, and the lost bytes will not come back.
        logger_.log(
            log_level::error, "the log of a run is damaged",
            {{"run", std::to_string(run_number)}, {"reason", error.what()}}
        );
        return log_is_gone();
    }
}

bool log_jobs::drop_some(const store::log_limits& limits) {
    if (tables_.attempts.erase_some(limits.ended_since, limits.max_bytes / attempts_part)) {
        return true;
    }
    std::vector<std::int64_t> runs =
        tables_.runs.with_log_before(limits.ended_since, dropped_at_once);
    if (runs.empty() && limits.max_bytes != 0) {
        runs = first_ended_beyond(limits.max_bytes);
    }
    // Limited, because every stream waits for this transaction.
    std::uint64_t bytes = 0;
    std::size_t count = 0;
    while (count < runs.size() && bytes < dropped_bytes_at_once) {
        bytes += tables_.log.row_bytes_of(runs[count]);
        tables_.runs.set_log_state(runs[count], log_state::dropped);
        ++count;
    }
    runs.resize(count);
    tables_.log.erase(runs);
    return !runs.empty();
}

// The oldest logs, or some of them, that must be dropped to get down to `max_bytes`. Entries that
// are not yet in rows do not count.
std::vector<std::int64_t> log_jobs::first_ended_beyond(std::uint64_t max_bytes) {
    std::vector<std::int64_t> runs;
    std::uint64_t left = tables_.log.row_bytes();
    if (left <= max_bytes) {
        return runs;
    }
    for (const std::int64_t run : tables_.runs.with_rows(dropped_at_once)) {
        if (left > max_bytes) {
            left -= tables_.log.row_bytes_of(run);
            runs.push_back(run);
        }
    }
    if (runs.empty()) {
        logger_.log(
            log_level::warning,
            "the logs exceed session.log_max_bytes, but none of them can be dropped"
        );
    }
    return runs;
}

} // namespace agui::session
