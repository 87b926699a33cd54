#pragma once

#include "session/conversation/thread_access.hpp"
#include "session/sqlite/sqlite_db.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// Access to the tables of shared ids and of the principals to whom threads are opened. Runs on the
/// store's thread; functions that write run in a transaction. Throws sqlite_error.
class sqlite_access {
public:
    explicit sqlite_access(database& db);

    /// store::set_access() of an existing thread.
    void
    set(std::int64_t thread, const std::vector<access_entry>& entries, std::string_view new_id);
    [[nodiscard]] thread_access of(std::int64_t thread);
    /// store::find_shared().
    [[nodiscard]] std::optional<shared_thread>
    find(std::string_view shared_id, std::string_view principal);
    void erase_of(std::int64_t thread);
    /// True if a thread has that shared id.
    [[nodiscard]] bool is_taken(std::string_view shared_id);
    /// Erases the rights of a principal in threads of others and returns their number.
    std::size_t erase_rights_of(std::string_view principal);

private:
    database& db_;
    statement name_;
    statement name_of_;
    statement erase_name_;
    statement add_;
    statement entries_of_;
    statement erase_entries_;
    statement find_;
    statement taken_;
    statement erase_rights_;
};

} // namespace agui::session
