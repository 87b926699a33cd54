#include "session/postgres/pg_access.hpp"

#include "session/postgres/pg_runs.hpp"
#include "session/store/stored_rows.hpp"

namespace agui::session {

namespace {

constexpr const char* add_shared_id =
    "INSERT INTO agui.shared_ids (thread, shared_id) VALUES ($1, $2) "
    "ON CONFLICT (thread) DO NOTHING";
constexpr const char* drop_access = "DELETE FROM agui.thread_access WHERE thread = $1";
constexpr const char* add_access =
    "INSERT INTO agui.thread_access (thread, principal, access_right) "
    "SELECT $1, e.principal, e.access_right FROM unnest($2, $3) AS e(principal, access_right)";
constexpr const char* shared_id_of =
    "SELECT s.shared_id FROM agui.threads t LEFT JOIN agui.shared_ids s ON s.thread = t.id "
    "WHERE t.principal = $1 AND t.thread_id = $2";
constexpr const char* access_entries_of =
    "SELECT principal, access_right FROM agui.thread_access WHERE thread = " AGUI_PG_THREAD
    " ORDER BY principal";
constexpr const char* shared_with =
    "SELECT t.principal, t.thread_id, a.access_right FROM agui.shared_ids s "
    "JOIN agui.thread_access a ON a.thread = s.thread AND a.principal = $2 "
    "JOIN agui.threads t ON t.id = s.thread WHERE s.shared_id = $1";

constexpr const char* shared_id_is_taken =
    "SELECT EXISTS (SELECT FROM agui.shared_ids WHERE shared_id = $1)";
constexpr const char* drop_rights = "DELETE FROM agui.thread_access WHERE principal = $1";

} // namespace

pg_batch write_access(
    std::int64_t thread, const std::vector<access_entry>& entries, const std::string& new_id
) {
    std::vector<std::string_view> principals;
    std::vector<pg_text> rights;
    for (const access_entry& each : entries) {
        principals.emplace_back(each.principal);
        rights.push_back({to_string(each.right)});
    }
    pg_batch batch;
    batch.emplace_back(add_shared_id, thread, new_id);
    batch.emplace_back(drop_access, thread);
    batch.emplace_back(add_access, thread, principals, rights);
    return batch;
}

pg_batch select_access(const thread_key& key) {
    pg_batch batch;
    batch.emplace_back(shared_id_of, key.principal, key.thread_id);
    batch.emplace_back(access_entries_of, key.principal, key.thread_id);
    return batch;
}

std::optional<thread_access> read_access(const std::vector<pg_rows>& results) {
    if (results.at(0).empty()) {
        return std::nullopt;
    }
    return thread_access{
        std::string(results.at(0).text(0, 0)), read_each(results.at(1), access_entry_at<pg_row>)
    };
}

pg_batch select_shared(const std::string& shared_id, const std::string& principal) {
    pg_batch batch;
    batch.emplace_back(shared_with, shared_id, principal);
    return batch;
}

pg_statement is_shared_id_taken(const std::string& shared_id) {
    return pg_statement(shared_id_is_taken, shared_id);
}

pg_statement drop_rights_of(const std::string& principal) {
    return pg_statement(drop_rights, principal);
}

std::optional<shared_thread> read_shared(const std::vector<pg_rows>& results) {
    const pg_rows& rows = results.at(0);
    return rows.empty() ? std::nullopt : std::optional(shared_thread_at(pg_row(rows, 0)));
}

} // namespace agui::session
