#pragma once

#include "session/sqlite/sqlite_tables.hpp"

#include "session/base/log.hpp"

#include <string>

namespace agui::session {

/// Takes over what a killed process of an earlier version (schema 5 to 10) has left in its ring and
/// its pages, and removes both: commits go into the tables, log entries become rows. What is
/// damaged is left out or marked, with a warning. Does nothing for a store that has none of these.
///
/// `path` is the ring's file. To be called before anything else is read or written. Throws
/// sqlite_error.
void take_over_earlier_log(sqlite_tables& tables, const std::string& path, agui::logger& logger);

} // namespace agui::session
