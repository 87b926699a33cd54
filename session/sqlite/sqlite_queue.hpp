#pragma once

#include "session/conversation/queued_request.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/store/stored_messages.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace agui::session {

/// Access to the table of queued requests. Runs on the store's thread; functions that write run in
/// a transaction. Throws sqlite_error.
class sqlite_queue {
public:
    explicit sqlite_queue(database& db);

    /// True if the thread's queue has a request with the id or the idempotency key of `request`.
    [[nodiscard]] bool exists(std::int64_t thread, const queued_request& request);

    struct size {
        std::uint64_t requests = 0;
        std::uint64_t bytes = 0; ///< Sum of bytes_of(queued_request).
    };
    [[nodiscard]] size size_of(std::int64_t thread);

    /// Appends a request and returns its number; numbers rise, also after the queue was empty.
    std::int64_t add(std::int64_t thread, const stored_request& what);
    /// Returns false if there is no such request in the thread's queue.
    [[nodiscard]] bool erase(std::int64_t thread, std::int64_t number);
    /// Erases up to `requests` of the first ones, fewer if they have more than `bytes`, but at
    /// least one. Returns false if there were none.
    [[nodiscard]] bool erase_some(std::int64_t thread, std::uint64_t requests, std::uint64_t bytes);

    /// A request as it is in the table.
    struct row {
        queued_request request; ///< Without its messages:
        std::string messages;   ///< they are JSON text.
    };
    /// The requests in the order in which they were added.
    [[nodiscard]] std::vector<row> of_thread(std::int64_t thread);

private:
    statement exists_;
    statement size_of_;
    statement add_;
    statement erase_;
    statement first_;
    statement of_thread_;
    database& db_;
};

} // namespace agui::session
