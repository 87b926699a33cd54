#pragma once

#include "session/conversation/failed_attempt.hpp"
#include "session/sqlite/sqlite_db.hpp"

#include <cstdint>

namespace agui::session {

/// Access to the table of failed attempts. Runs on the store's thread; functions that write run in
/// a transaction. Throws sqlite_error.
class sqlite_attempts {
public:
    explicit sqlite_attempts(database& db);

    void add(const failed_attempt& attempt);
    /// The bytes that the run's attempts take.
    [[nodiscard]] std::uint64_t bytes_of(std::int64_t run);
    void erase_of(std::int64_t run);

    /// Erases some of those made before `since` and, if `bytes_max` is not 0, some of the oldest
    /// while all together take more than that. Returns false if there were none to erase.
    [[nodiscard]] bool erase_some(unix_ms since, std::uint64_t bytes_max);

private:
    statement add_;
    statement bytes_of_;
    statement erase_of_;
    statement bytes_;
    statement oldest_;
    statement erase_;
};

} // namespace agui::session
