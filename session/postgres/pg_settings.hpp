#pragma once

namespace agui::session {

// The settings of a transaction. The server ends a statement after 20 s, a wait for a lock after 4
// s (before the wait for the first answer ends), and a transaction whose gateway sends nothing
// after 5 s, so that a stopped process holds no lock. A commit waits for the disk at least; where
// the server's settings ask for that or more, sessions follow them as they change.
#define AGUI_PG_SETTINGS(is_local, synchronous_commit)                                             \
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog', " is_local "), "                    \
    "pg_catalog.set_config('statement_timeout', '20000', " is_local "), "                          \
    "pg_catalog.set_config('lock_timeout', '4000', " is_local "), "                                \
    "pg_catalog.set_config('idle_in_transaction_session_timeout', '5000', " is_local "), "         \
    "CASE " synchronous_commit                                                                     \
    "WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off' "          \
    "THEN pg_catalog.set_config('synchronous_commit', 'on', " is_local ") END"

/// Sets them for the rest of the session, if $1 is the number of the server's process; otherwise
/// returns no row. Large values are compressed with LZ4, in a third of the time, if the server can
/// (since version 14) and is not told how to compress.
inline constexpr const char* pg_settings_of_session = AGUI_PG_SETTINGS(
    "false", ""
) ", (SELECT pg_catalog.set_config(s.name, 'lz4', false) FROM pg_catalog.pg_settings s "
  "WHERE s.name OPERATOR(pg_catalog.=) 'default_toast_compression' "
  "AND s.source OPERATOR(pg_catalog.=) 'default' "
  "AND 'lz4' OPERATOR(pg_catalog.=) ANY (s.enumvals)) "
  "WHERE pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) $1";
/// Sets them for the transaction, where sessions have none. If $1 is true, its commit does not wait
/// for the disk.
#define AGUI_PG_SETTINGS_OF_TRANSACTION                                                            \
    AGUI_PG_SETTINGS(                                                                              \
        "true", "WHEN $1 THEN pg_catalog.set_config('synchronous_commit', 'off', true) "           \
    )

} // namespace agui::session
