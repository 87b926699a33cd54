#pragma once

#include "session/sqlite/sqlite_attempts.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_queue.hpp"
#include "session/sqlite/sqlite_redo.hpp"
#include "session/sqlite/sqlite_removal.hpp"
#include "session/sqlite/sqlite_runs.hpp"
#include "session/sqlite/sqlite_thread_reader.hpp"
#include "session/sqlite/sqlite_threads.hpp"
#include "session/store/store.hpp"

#include "session/base/log.hpp"

#include <memory>

namespace agui::session {

/// The open file and all classes that know its tables, for code that needs several of them. Used by
/// one thread at a time: first the one that opens the store, then the store's.
struct sqlite_tables {
    /// Opens the file, or makes it. Throws sqlite_error and what open_schema() throws.
    sqlite_tables(const sqlite_settings& settings, agui::logger& logger);

    std::unique_ptr<database> db;
    sqlite_threads threads;
    sqlite_thread_reader reader;
    sqlite_runs runs;
    sqlite_log log;
    sqlite_attempts attempts;
    sqlite_queue queue;
    sqlite_removal removal;
    sqlite_redo redo;
};

} // namespace agui::session
