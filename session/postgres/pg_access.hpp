#pragma once

#include "session/conversation/thread_access.hpp"
#include "session/postgres/pg_transaction.hpp"
#include "session/postgres/pg_types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

// The statements for the tables of shared ids and of the principals to whom threads are opened. The
// database removes their rows with the thread.

/// Replaces the access of a thread whose row is locked.
[[nodiscard]] pg_batch write_access(
    std::int64_t thread, const std::vector<access_entry>& entries, const std::string& new_id
);
[[nodiscard]] pg_batch select_access(const thread_key& key);
/// nullopt if there is no such thread.
[[nodiscard]] std::optional<thread_access> read_access(const std::vector<pg_rows>& results);
[[nodiscard]] pg_batch select_shared(const std::string& shared_id, const std::string& principal);
[[nodiscard]] std::optional<shared_thread> read_shared(const std::vector<pg_rows>& results);

/// One row: whether a thread has that shared id.
[[nodiscard]] pg_statement is_shared_id_taken(const std::string& shared_id);
/// Erases the rights of a principal in threads of others.
[[nodiscard]] pg_statement drop_rights_of(const std::string& principal);

} // namespace agui::session
