#include "session/sqlite/sqlite_attempts.hpp"

#include <vector>

namespace agui::session {

namespace {

// 1 MB of bodies at most: every stream waits for the transaction.
constexpr std::uint64_t attempts_erased_at_once = 64;

} // namespace

sqlite_attempts::sqlite_attempts(database& db)
    : add_(
          db, "INSERT INTO failed_attempts (run, at, model, status, request_id, bytes, body) "
              "VALUES (?, ?, ?, ?, ?, ?, ?)"
      ),
      bytes_of_(db, "SELECT coalesce(sum(bytes), 0) FROM failed_attempts WHERE run = ?"),
      erase_of_(db, "DELETE FROM failed_attempts WHERE run = ?"),
      bytes_(db, "SELECT coalesce(sum(bytes), 0) FROM failed_attempts"),
      oldest_(db, "SELECT number, at, bytes FROM failed_attempts ORDER BY at LIMIT ?"),
      erase_(db, "DELETE FROM failed_attempts WHERE number = ?") {}

void sqlite_attempts::add(const failed_attempt& attempt) {
    add_.execute(
        attempt.run_number, attempt.at, attempt.model, attempt.status, attempt.request_id,
        std::uint64_t{attempt.body.size()}, attempt.body
    );
}

std::uint64_t sqlite_attempts::bytes_of(std::int64_t run) {
    statement::rows row = bytes_of_.query(run);
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

void sqlite_attempts::erase_of(std::int64_t run) { erase_of_.execute(run); }

bool sqlite_attempts::erase_some(unix_ms since, std::uint64_t bytes_max) {
    std::uint64_t left = 0;
    if (bytes_max != 0) {
        statement::rows row = bytes_.query();
        left = row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
    }
    std::vector<std::int64_t> numbers;
    {
        statement::rows row = oldest_.query(attempts_erased_at_once);
        while (row.next() && (row.integer(1) < since || left > bytes_max)) {
            numbers.push_back(row.integer(0));
            left -= bytes_max == 0 ? 0 : static_cast<std::uint64_t>(row.integer(2));
        }
    }
    for (const std::int64_t number : numbers) {
        erase_.execute(number);
    }
    return !numbers.empty();
}

} // namespace agui::session
