#pragma once

#include "session/sqlite/sqlite_attempts.hpp"
#include "session/sqlite/sqlite_db.hpp"
#include "session/sqlite/sqlite_log.hpp"
#include "session/sqlite/sqlite_queue.hpp"

#include <cstdint>

namespace agui::session {

/// Removes a thread from the tables: first it becomes invisible (mark), then its rows are deleted,
/// a limited number at a time, so that removing a long thread delays no other call for long. The
/// next process can finish the work of a killed one.
///
/// Runs on the store's thread, in a transaction. Throws sqlite_error.
class sqlite_removal {
public:
    sqlite_removal(database& db, sqlite_log& log, sqlite_attempts& attempts, sqlite_queue& queue);

    /// Makes the thread invisible.
    void mark(std::int64_t thread);
    /// Erases some rows of marked threads. Returns false if none are left.
    [[nodiscard]] bool erase_some();
    /// Erases failed attempts that were written after their run had been erased.
    void erase_late_attempts();
    /// Number of threads that this object has marked.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
    [[nodiscard]] bool erase_runs(std::int64_t thread);
    [[nodiscard]] bool erase_messages(std::int64_t thread);
    [[nodiscard]] bool erase_rows(std::int64_t thread);

    database& db_;
    sqlite_log& log_;
    sqlite_attempts& attempts_;
    sqlite_queue& queue_;
    statement next_;
    statement runs_;
    statement erase_run_;
    statement messages_;
    statement erase_messages_;
    statement erase_events_;
    statement erase_calls_;
    statement erase_branches_;
    std::uint64_t count_ = 0;
};

} // namespace agui::session
