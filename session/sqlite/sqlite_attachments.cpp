#include "session/sqlite/sqlite_attachments.hpp"

#include <string>
#include <vector>

namespace agui::session {

namespace {

// Each may have megabytes, and every stream waits for the transaction.
constexpr int attachments_erased_at_once = 4;

} // namespace

sqlite_attachments::sqlite_attachments(database& db)
    : db_(db),
      bytes_(
          db, "SELECT coalesce(sum(size), 0) FROM attachments "
              "WHERE principal = ? AND thread_id = ? AND sha256 <> ?"
      ),
      keep_(
          db, "INSERT INTO attachments "
              "(principal, thread_id, sha256, mime_type, kept_at, size, bytes) "
              "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (principal, thread_id, sha256) "
              "DO UPDATE SET kept_at = excluded.kept_at, mime_type = excluded.mime_type"
      ),
      find_(
          db, "SELECT mime_type, kept_at, bytes FROM attachments "
              "WHERE principal = ? AND thread_id = ? AND sha256 = ?"
      ),
      erase_of_(db, "DELETE FROM attachments WHERE principal = ? AND thread_id = ?"),
      oldest_(db, "SELECT number, kept_at FROM attachments ORDER BY kept_at LIMIT ?"),
      erase_(db, "DELETE FROM attachments WHERE number = ?"),
      digests_(
          db, "SELECT sha256 FROM attachments WHERE principal = ? AND thread_id = ? ORDER BY sha256"
      ),
      erase_of_principal_(db, "DELETE FROM attachments WHERE principal = ?") {}

std::uint64_t sqlite_attachments::bytes_of_others(const thread_key& key, std::string_view sha256) {
    statement::rows row = bytes_.query(key.principal, key.thread_id, sha256);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

void sqlite_attachments::keep(const thread_key& key, const attachment& what) {
    keep_.execute(
        key.principal, key.thread_id, what.sha256, what.mime_type, what.kept_at,
        std::uint64_t{what.bytes.size()}, blob_view{what.bytes}
    );
}

std::optional<attachment> sqlite_attachments::find(const thread_key& key, std::string_view sha256) {
    statement::rows row = find_.query(key.principal, key.thread_id, sha256);
    if (!row.next()) {
        return std::nullopt;
    }
    return attachment{
        .sha256 = std::string(sha256),
        .mime_type = std::string(row.text(0)),
        .bytes = std::string(row.blob(2)),
        .kept_at = row.integer(1),
    };
}

void sqlite_attachments::erase_of(const thread_key& key) {
    erase_of_.execute(key.principal, key.thread_id);
}

std::vector<std::string> sqlite_attachments::digests(const thread_key& key) {
    std::vector<std::string> found;
    statement::rows row = digests_.query(key.principal, key.thread_id);
    while (row.next()) {
        found.emplace_back(row.text(0));
    }
    return found;
}

std::size_t sqlite_attachments::erase_of_principal(std::string_view principal) {
    erase_of_principal_.execute(principal);
    return static_cast<std::size_t>(db_.changed_rows());
}

bool sqlite_attachments::erase_some(unix_ms since) {
    std::vector<std::int64_t> numbers;
    {
        statement::rows row = oldest_.query(attachments_erased_at_once);
        while (row.next() && row.integer(1) < since) {
            numbers.push_back(row.integer(0));
        }
    }
    for (const std::int64_t number : numbers) {
        erase_.execute(number);
    }
    return !numbers.empty();
}

} // namespace agui::session
