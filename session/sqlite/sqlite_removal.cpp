#include "session/sqlite/sqlite_removal.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace agui::session {

namespace {

// Limits of one transaction: it takes some milliseconds, for which every run waits.
constexpr std::uint64_t rows_at_once = 500;
constexpr std::uint64_t bytes_at_once = 2U << 20U; // The last row or log may exceed it.

} // namespace

sqlite_removal::sqlite_removal(
    database& db, sqlite_log& log, sqlite_attempts& attempts, sqlite_queue& queue
)
    : db_(db),
      log_(log),
      attempts_(attempts),
      queue_(queue),
      next_(db, "SELECT thread FROM removed_threads LIMIT 1"),
      runs_(db, "SELECT number FROM runs WHERE thread = ? LIMIT ?"),
      erase_run_(db, "DELETE FROM runs WHERE number = ?"),
      messages_(
          db, "SELECT number, length(CAST(message AS BLOB)) FROM messages WHERE thread = ? "
              "ORDER BY number LIMIT ?"
      ),
      erase_messages_(db, "DELETE FROM messages WHERE thread = ? AND number <= ?"),
      erase_events_(
          db, "DELETE FROM session_events WHERE thread = ?1 AND sequence < ?2 + "
              "(SELECT min(sequence) FROM session_events WHERE thread = ?1)"
      ),
      erase_calls_(
          db,
          "DELETE FROM calls WHERE number IN (SELECT number FROM calls WHERE thread = ? LIMIT ?)"
      ),
      erase_branches_(
          db, "DELETE FROM branches WHERE thread = ?1 AND number < ?2 + "
              "(SELECT min(number) FROM branches WHERE thread = ?1)"
      ) {}

void sqlite_removal::mark(std::int64_t thread) {
    const std::string id = std::to_string(thread);
    db_.execute("INSERT INTO removed_threads VALUES (" + id + ")");
    db_.execute("DELETE FROM threads WHERE id = " + id);
    ++count_;
}

bool sqlite_removal::erase_some() {
    std::int64_t thread = 0;
    {
        statement::rows row = next_.query();
        if (!row.next()) {
            return false;
        }
        thread = row.integer(0);
    }
    if (erase_runs(thread) || erase_messages(thread) ||
        queue_.erase_some(thread, rows_at_once, bytes_at_once) || erase_rows(thread)) {
        return true;
    }
    const std::string id = std::to_string(thread);
    db_.execute("DELETE FROM thread_documents WHERE thread = " + id);
    db_.execute("DELETE FROM removed_threads WHERE thread = " + id);
    return true;
}

void sqlite_removal::erase_late_attempts() {
    db_.execute("DELETE FROM failed_attempts WHERE run NOT IN (SELECT number FROM runs)");
}

// The next three functions erase some rows. They return false if there were none.

bool sqlite_removal::erase_runs(std::int64_t thread) {
    std::vector<std::int64_t> numbers;
    {
        statement::rows row = runs_.query(thread, rows_at_once);
        std::uint64_t bytes = 0;
        while (bytes < bytes_at_once && row.next()) {
            numbers.push_back(row.integer(0));
            bytes += log_.row_bytes_of(numbers.back()) + attempts_.bytes_of(numbers.back());
        }
    }
    log_.erase(numbers);
    for (const std::int64_t number : numbers) {
        attempts_.erase_of(number);
        erase_run_.execute(number);
    }
    return !numbers.empty();
}

bool sqlite_removal::erase_messages(std::int64_t thread) {
    std::int64_t last = -1;
    {
        statement::rows row = messages_.query(thread, rows_at_once);
        std::int64_t bytes = 0;
        while (bytes < static_cast<std::int64_t>(bytes_at_once) && row.next()) {
            last = row.integer(0);
            bytes += row.integer(1);
        }
    }
    if (last < 0) {
        return false;
    }
    erase_messages_.execute(thread, last);
    return true;
}

bool sqlite_removal::erase_rows(std::int64_t thread) {
    erase_events_.execute(thread, rows_at_once);
    if (db_.changed_rows() != 0) {
        return true;
    }
    erase_calls_.execute(thread, rows_at_once);
    if (db_.changed_rows() != 0) {
        return true;
    }
    erase_branches_.execute(thread, rows_at_once);
    return db_.changed_rows() != 0;
}

} // namespace agui::session
