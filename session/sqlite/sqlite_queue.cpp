#include "session/sqlite/sqlite_queue.hpp"

#include "session/store/stored_rows.hpp"

namespace agui::session {

sqlite_queue::sqlite_queue(database& db)
    : exists_(
          db, "SELECT 1 FROM queued_requests WHERE thread = ?1 AND "
              "(run_id = ?2 OR idempotency_key = nullif(?3, ''))"
      ),
      size_of_(
          db, "SELECT count(*), coalesce(sum(bytes), 0) FROM queued_requests WHERE thread = ?"
      ),
      add_(
          db, "INSERT INTO queued_requests (thread, run_id, parent_run_id, agent_id, input_digest, "
              "idempotency_key, protocol, queued_at, bytes, messages) "
              "VALUES (?, ?, ?, ?, ?, nullif(?, ''), ?, ?, ?, ?)"
      ),
      erase_(db, "DELETE FROM queued_requests WHERE number = ? AND thread = ?"),
      first_(
          db, "SELECT number, bytes FROM queued_requests WHERE thread = ? ORDER BY number LIMIT ?"
      ),
      of_thread_(
          db, "SELECT number, run_id, parent_run_id, agent_id, input_digest, idempotency_key, "
              "protocol, queued_at, messages FROM queued_requests WHERE thread = ? "
              "ORDER BY number"
      ),
      db_(db) {}

bool sqlite_queue::exists(std::int64_t thread, const queued_request& request) {
    statement::rows row = exists_.query(thread, request.run_id, request.idempotency_key);
    return row.next();
}

sqlite_queue::size sqlite_queue::size_of(std::int64_t thread) {
    statement::rows row = size_of_.query(thread);
    if (!row.next()) {
        return {};
    }
    return {
        .requests = static_cast<std::uint64_t>(row.integer(0)),
        .bytes = static_cast<std::uint64_t>(row.integer(1)),
    };
}

std::int64_t sqlite_queue::add(std::int64_t thread, const stored_request& what) {
    const queued_request& request = what.request;
    add_.execute(
        thread, request.run_id, request.parent_run_id, request.agent_id, request.input_digest,
        request.idempotency_key, request.protocol, request.queued_at, what.bytes, what.messages
    );
    return db_.last_insert_id();
}

bool sqlite_queue::erase(std::int64_t thread, std::int64_t number) {
    erase_.execute(number, thread);
    return db_.changed_rows() != 0;
}

bool sqlite_queue::erase_some(std::int64_t thread, std::uint64_t requests, std::uint64_t bytes) {
    std::vector<std::int64_t> numbers;
    {
        statement::rows row = first_.query(thread, requests);
        std::uint64_t taken = 0;
        while (taken < bytes && row.next()) {
            numbers.push_back(row.integer(0));
            taken += static_cast<std::uint64_t>(row.integer(1));
        }
    }
    for (const std::int64_t number : numbers) {
        (void)erase(thread, number);
    }
    return !numbers.empty();
}

std::vector<sqlite_queue::row> sqlite_queue::of_thread(std::int64_t thread) {
    std::vector<row> found;
    statement::rows read = of_thread_.query(thread);
    while (read.next()) {
        queued_request& request = found.emplace_back(request_at(read)).request;
        request.waits_since = request.queued_at; // No other process shares the store.
        found.back().messages = read.text(8);
    }
    return found;
}

} // namespace agui::session
