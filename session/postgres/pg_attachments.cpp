#include "session/postgres/pg_attachments.hpp"

#include <string_view>

namespace agui::session {

namespace {

constexpr const char* keep_attachment =
    "INSERT INTO agui.attachments "
    "(principal, thread_id, sha256, mime_type, kept_at, size, bytes) "
    "SELECT $1, $2, $3, $4, $5, $6, $7 WHERE $8 >= $6 + "
    "(SELECT coalesce(sum(size), 0) FROM agui.attachments a "
    "WHERE a.principal = $1 AND a.thread_id = $2 AND a.sha256 <> $3) "
    "ON CONFLICT (principal, thread_id, sha256) "
    "DO UPDATE SET kept_at = excluded.kept_at, mime_type = excluded.mime_type";
constexpr const char* find = "SELECT mime_type, kept_at, bytes FROM agui.attachments "
                             "WHERE principal = $1 AND thread_id = $2 AND sha256 = $3";
constexpr const char* drop_of =
    "DELETE FROM agui.attachments WHERE principal = $1 AND thread_id = $2";
constexpr const char* drop_before = "DELETE FROM agui.attachments WHERE kept_at < $1";

constexpr const char* digests_of = "SELECT sha256 FROM agui.attachments "
                                   "WHERE principal = $1 AND thread_id = $2 ORDER BY sha256";
constexpr const char* drop_all_of = "DELETE FROM agui.attachments WHERE principal = $1";

} // namespace

pg_batch
keep_attachment_statement(const thread_key& key, const attachment& what, std::uint64_t bytes_max) {
    pg_batch batch;
    batch.emplace_back(
        keep_attachment, key.principal, key.thread_id, what.sha256, what.mime_type, what.kept_at,
        what.bytes.size(), std::string_view(what.bytes), bytes_max
    );
    return batch;
}

pg_batch select_attachment(const thread_key& key, const std::string& sha256) {
    pg_batch batch;
    batch.emplace_back(find, key.principal, key.thread_id, sha256);
    return batch;
}

std::optional<attachment>
read_attachment(const std::vector<pg_rows>& results, const std::string& sha256) {
    const pg_rows& rows = results.at(0);
    if (rows.empty()) {
        return std::nullopt;
    }
    return attachment{
        .sha256 = sha256,
        .mime_type = std::string(rows.text(0, 0)),
        .bytes = std::string(rows.text(0, 2)),
        .kept_at = rows.integer(0, 1),
    };
}

pg_statement drop_attachments_of(const thread_key& key) {
    return pg_statement(drop_of, key.principal, key.thread_id);
}

pg_statement select_attachment_digests(const thread_key& key) {
    return pg_statement(digests_of, key.principal, key.thread_id);
}

pg_statement drop_attachments_of_principal(const std::string& principal) {
    return pg_statement(drop_all_of, principal);
}

pg_batch drop_attachments_before(unix_ms since) {
    pg_batch batch;
    batch.emplace_back(drop_before, since);
    return batch;
}

} // namespace agui::session
