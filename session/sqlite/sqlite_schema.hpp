#pragma once

#include "session/sqlite/sqlite_db.hpp"
#include "session/store/store.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace agui::session {

/// The `PRAGMA application_id` of a store's file: "AGUI".
inline constexpr std::int64_t sqlite_application_id = 0x41475549;

/// The `PRAGMA user_version` of the oldest schema that can be opened; 0 is an empty file.
inline constexpr std::int64_t sqlite_first_version = 12;

/// Changes a schema to the next version, inside a transaction.
using sqlite_migration = void (*)(database&);

/// The first makes sqlite_first_version from an empty file, each other one a version from that
/// before it. The last one leads to the version that this program reads and writes.
[[nodiscard]] std::span<const sqlite_migration> sqlite_migrations() noexcept;

/// store::signing_key() of an open store.
[[nodiscard]] std::string read_signing_key(database& db);

/// Locks the file for this process, migrates it to the newest version and sets up the connection.
/// Throws std::runtime_error, with a text for the operator, if the file is another program's, has
/// another version or cannot have a write-ahead log, and sqlite_error (SQLITE_BUSY) if another
/// process uses it; then its contents are not changed. A failed migration leaves it at its old
/// version.
void open_schema(
    database& db, session::durability durability, std::span<const sqlite_migration> migrations
);

/// Rewrites the file without the remains of deleted rows, and empties the write-ahead log. Call it
/// outside of transactions. It needs as much disk space again, in the folder for temporary files
/// and beside the file.
void scrub_file(database& db);

} // namespace agui::session
