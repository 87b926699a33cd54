#pragma once

#include "session/conversation/attachment.hpp"
#include "session/conversation/thread.hpp"
#include "session/postgres/pg_transaction.hpp"
#include "session/postgres/pg_types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

// The statements for the table of attachments.

/// Changes no row if the thread's attachments would take more than `bytes_max`.
[[nodiscard]] pg_batch
keep_attachment_statement(const thread_key& key, const attachment& what, std::uint64_t bytes_max);
[[nodiscard]] pg_batch select_attachment(const thread_key& key, const std::string& sha256);
[[nodiscard]] std::optional<attachment>
read_attachment(const std::vector<pg_rows>& results, const std::string& sha256);
/// Drops the attachments of a thread that is removed.
[[nodiscard]] pg_statement drop_attachments_of(const thread_key& key);
[[nodiscard]] pg_batch drop_attachments_before(unix_ms since);

/// The digests of the thread's attachments, sorted.
[[nodiscard]] pg_statement select_attachment_digests(const thread_key& key);
/// Erases all attachments of the principal.
[[nodiscard]] pg_statement drop_attachments_of_principal(const std::string& principal);

} // namespace agui::session
