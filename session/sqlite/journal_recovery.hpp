#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_runs.hpp"

#include "session/base/log.hpp"

#include <cstdint>
#include <string>

namespace agui::session {

/// Copies the entries that an earlier process left in its journal into the tables. Repeating it
/// does no harm. The files are removed afterwards, with those of any other journal beside this
/// store.
///
/// `path` is the journal's (journal::settings). Returns the number for the next file. Call it
/// before any run begins. Throws sqlite_error.
[[nodiscard]] std::uint64_t recover_journal(
    database& db, sqlite_runs& runs, sqlite_log& log, const std::string& path, agui::logger& logger
);

} // namespace agui::session
