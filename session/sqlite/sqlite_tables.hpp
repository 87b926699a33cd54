#pragma once

#include "session/sqlite/journal.hpp"
#include "session/sqlite/live_logs.hpp"
#include "session/sqlite/sqlite_access.hpp"
#include "session/sqlite/sqlite_attachments.hpp"
#include "session/sqlite/sqlite_attempts.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_queue.hpp"
#include "session/sqlite/sqlite_removal.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/sqlite/sqlite_thread_reader.hpp"
#include "session/sqlite/sqlite_threads.hpp"
#include "session/sqlite/sqlite_usage.hpp"
#include "session/sqlite/thread_cache.hpp"
#include "session/store/message_cache.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace agui::session {

/// The open file and its journal, and all classes that know its tables, for code that needs several
/// of them. Used by one thread at a time, except as journal and live_logs allow: first the thread
/// that opens the store, then the store's thread.
struct sqlite_tables {
    /// Opens the file, or makes it, and recovers the data that an earlier process left. Throws
    /// sqlite_error, std::system_error and the exceptions of open_schema().
    sqlite_tables(const sqlite_settings& settings, agui::logger& logger);

    std::unique_ptr<database> db;
    journal files;
    live_logs live;
    sqlite_threads threads;
    sqlite_thread_reader reader;
    sqlite_runs runs;
    sqlite_log log;
    sqlite_attempts attempts;
    sqlite_attachments attachments;
    sqlite_access access;
    sqlite_queue queue;
    sqlite_usage usage;
    sqlite_removal removal;
    thread_cache cache;
    message_cache messages; ///< The messages of long threads, which `cache` cannot hold.

    /// Moves everything into the one file and removes the journal; keeps the journal if that fails.
    void close() noexcept;
};

/// The path of a file beside the store's, as SQLite's own files are.
[[nodiscard]] std::string file_beside(const sqlite_settings& settings, std::string_view ending);

} // namespace agui::session
