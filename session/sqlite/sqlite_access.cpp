#include "session/sqlite/sqlite_access.hpp"

#include "session/store/stored_rows.hpp"

namespace agui::session {

sqlite_access::sqlite_access(database& db)
    : db_(db),
      name_(db, "INSERT INTO shared_ids (thread, shared_id) VALUES (?, ?) ON CONFLICT DO NOTHING"),
      name_of_(db, "SELECT shared_id FROM shared_ids WHERE thread = ?"),
      erase_name_(db, "DELETE FROM shared_ids WHERE thread = ?"),
      add_(db, "INSERT INTO thread_access (thread, principal, access_right) VALUES (?, ?, ?)"),
      entries_of_(
          db, "SELECT principal, access_right FROM thread_access WHERE thread = ? "
              "ORDER BY principal"
      ),
      erase_entries_(db, "DELETE FROM thread_access WHERE thread = ?"),
      find_(
          db, "SELECT t.principal, t.thread_id, a.access_right FROM shared_ids s "
              "JOIN thread_access a ON a.thread = s.thread AND a.principal = ? "
              "JOIN threads t ON t.id = s.thread WHERE s.shared_id = ?"
      ),
      taken_(db, "SELECT 1 FROM shared_ids WHERE shared_id = ?"),
      erase_rights_(db, "DELETE FROM thread_access WHERE principal = ?") {}

void sqlite_access::set(
    std::int64_t thread, const std::vector<access_entry>& entries, std::string_view new_id
) {
    name_.execute(thread, new_id);
    erase_entries_.execute(thread);
    for (const access_entry& each : entries) {
        add_.execute(thread, each.principal, to_string(each.right));
    }
}

thread_access sqlite_access::of(std::int64_t thread) {
    thread_access found;
    {
        statement::rows row = name_of_.query(thread);
        if (row.next()) {
            found.shared_id = row.text(0);
        }
    }
    statement::rows row = entries_of_.query(thread);
    while (row.next()) {
        found.entries.push_back(access_entry_at(row));
    }
    return found;
}

std::optional<shared_thread>
sqlite_access::find(std::string_view shared_id, std::string_view principal) {
    statement::rows row = find_.query(principal, shared_id);
    return row.next() ? std::optional(shared_thread_at(row)) : std::nullopt;
}

void sqlite_access::erase_of(std::int64_t thread) {
    erase_entries_.execute(thread);
    erase_name_.execute(thread);
}

bool sqlite_access::is_taken(std::string_view shared_id) { return taken_.query(shared_id).next(); }

std::size_t sqlite_access::erase_rights_of(std::string_view principal) {
    erase_rights_.execute(principal);
    return static_cast<std::size_t>(db_.changed_rows());
}

} // namespace agui::session
