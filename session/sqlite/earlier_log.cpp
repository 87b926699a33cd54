#include "session/sqlite/earlier_log.hpp"

#include "session/sqlite/earlier_commit.hpp"
#include "session/sqlite/earlier_ring.hpp"
#include "session/sqlite/journal_recovery.hpp"
#include "session/sqlite/run_jobs.hpp"

#include "session/base/failpoint.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

namespace agui::session {

namespace {

// What was read; the entries are views of the bytes.
struct left_behind {
    std::string ring_bytes;
    std::vector<std::string> page_bytes;
    std::vector<journal_item> entries;
    std::vector<earlier_ring::commit> commits;
    bool is_unreadable = false;
};

left_behind read_all(database& db, const std::string& path) {
    left_behind found;
    const auto identity =
        static_cast<std::uint64_t>(db.integer("SELECT coalesce(identity, 0) FROM log_ring"));
    const auto applied = static_cast<std::uint64_t>(db.integer("SELECT applied FROM log_ring"));
    {
        statement pages(db, "SELECT slices FROM log_pages ORDER BY page");
        statement::rows row = pages.query();
        while (row.next()) {
            found.page_bytes.emplace_back(row.blob(0));
        }
    }
    for (const std::string& page : found.page_bytes) {
        const auto entries = read_earlier_page(page);
        found.is_unreadable = found.is_unreadable || !entries;
        if (entries) {
            found.entries.insert(found.entries.end(), entries->begin(), entries->end());
        }
    }
    if (identity != 0) {
        found.ring_bytes = read_file(path).value_or(std::string());
        const auto ring = read_earlier_ring(found.ring_bytes, identity);
        found.is_unreadable = found.is_unreadable || !ring || ring->unreadable;
        if (ring) {
            found.entries.insert(found.entries.end(), ring->entries.begin(), ring->entries.end());
            std::ranges::copy_if(
                ring->commits, std::back_inserter(found.commits),
                [applied](const earlier_ring::commit& each) { return each.place > applied; }
            );
        }
    }
    // A run's entries were written to pages and to the ring in turn.
    std::ranges::sort(found.entries, {}, [](const journal_item& each) {
        return each.entries.first_sequence;
    });
    return found;
}

// Throws std::logic_error if the commit does not fit its thread.
void apply(run_jobs& jobs, sqlite_tables& tables, const earlier_commit& commit) {
    const auto at = tables.threads.find(commit.key);
    if (commit.begins) {
        if (at.has_value() != commit.thread_exists || (at && at->size != commit.before)) {
            throw std::logic_error("a run begins on a thread that has changed");
        }
        (void)jobs.begin(commit.key, *commit.begins, commit.change, std::nullopt, nullptr);
        return;
    }
    if (!at) {
        return; // It was removed.
    }
    if (at->size != commit.before) {
        throw std::logic_error("a thread is not as its run left it");
    }
    (void)jobs.commit(commit.key, commit.change, std::nullopt, nullptr);
}

// A commit that does not fit must not keep the others out. A power cut can cause one.
void apply_or_leave_out(
    run_jobs& jobs, sqlite_tables& tables, std::string_view bytes, agui::logger& logger
) {
    const auto commit = read_earlier_commit(bytes);
    if (!commit) {
        logger.log(log_level::error, "left out a commit that cannot be read");
        return;
    }
    savepoint own(*tables.db);
    std::string reason;
    try {
        apply(jobs, tables, *commit);
    } catch (const std::logic_error& error) {
        reason = error.what();
    } catch (const sqlite_error& error) {
        if ((error.code() & 0xff) != SQLITE_CONSTRAINT) {
            throw;
        }
        reason = error.what();
    }
    if (reason.empty()) {
        own.keep();
        return;
    }
    own.undo();
    logger.log(
        log_level::error, "left out a commit that does not fit its thread",
        {{"thread", commit->key.thread_id}, {"reason", reason}}
    );
}

} // namespace

void take_over_earlier_log(sqlite_tables& tables, const std::string& path, agui::logger& logger) {
    database& db = *tables.db;
    if (db.integer("SELECT count(*) FROM sqlite_master WHERE name = 'log_ring'") == 0) {
        return;
    }
    const left_behind found = read_all(db, path);
    lease_table no_leases;
    run_jobs jobs(tables, no_leases);
    {
        transaction change(db);
        for (const earlier_ring::commit& each : found.commits) {
            apply_or_leave_out(jobs, tables, each.bytes, logger);
        }
        // Their runs are not open: the process that had them has ended.
        tables.log.rolled_back();
        log_takeover entries(tables.runs, tables.log);
        for (const journal_item& each : found.entries) {
            entries.read(each);
        }
        if (found.is_unreadable) {
            entries.suspect_active();
        }
        entries.write(logger);
        db.execute("DROP TABLE log_pages");
        db.execute("DROP TABLE log_ring");
        change.commit();
    }
    tables.log.committed();
    pass_failpoint("store.earlier_log_taken");
    std::error_code ignored; // A file left behind belongs to no store.
    std::filesystem::remove(path, ignored);
}

} // namespace agui::session
