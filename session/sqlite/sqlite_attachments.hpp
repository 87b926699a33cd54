#pragma once

#include "session/conversation/attachment.hpp"
#include "session/conversation/thread.hpp"
#include "session/sqlite/sqlite_db.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// Access to the table of attachments. Runs on the store's thread; functions that write run in a
/// transaction. Throws sqlite_error.
class sqlite_attachments {
public:
    explicit sqlite_attachments(database& db);

    /// Bytes of the thread's other attachments.
    [[nodiscard]] std::uint64_t bytes_of_others(const thread_key& key, std::string_view sha256);
    void keep(const thread_key& key, const attachment& what);
    [[nodiscard]] std::optional<attachment> find(const thread_key& key, std::string_view sha256);
    void erase_of(const thread_key& key);
    /// store::attachment_digests().
    [[nodiscard]] std::vector<std::string> digests(const thread_key& key);
    /// Erases all of the principal's and returns their number.
    std::size_t erase_of_principal(std::string_view principal);
    /// Erases some of those kept before `since`. Returns false if there were none.
    [[nodiscard]] bool erase_some(unix_ms since);

private:
    database& db_;
    statement bytes_;
    statement keep_;
    statement find_;
    statement erase_of_;
    statement oldest_;
    statement erase_;
    statement digests_;
    statement erase_of_principal_;
};

} // namespace agui::session
