#pragma once

#include "session/postgres/pg_result.hpp"
#include "session/postgres/pg_transaction.hpp"

#include "session/conversation/queued_request.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

// The statements for the tables of runs and of queued requests, and readers of their results.

/// The columns that pg_run_at() reads, of `runs r`.
#define AGUI_PG_RUN_COLUMNS                                                                        \
    "r.number, r.run_id, r.parent_run_id, r.agent_id, r.input_digest, r.status, r.end_reason, "    \
    "r.started_at, r.ended_at, r.last_sequence, r.idempotency_key, r.protocol, r.answered_by, "    \
    "r.sound_until"
/// The number of the thread whose key is $1 and $2.
#define AGUI_PG_THREAD                                                                             \
    "(SELECT t.id FROM agui.threads t WHERE t.principal = $1 AND t.thread_id = $2)"

[[nodiscard]] run_record pg_run_at(const pg_table& rows, std::size_t row);
[[nodiscard]] std::optional<run_record> first_run(const pg_rows& rows);

[[nodiscard]] pg_statement find_run_by_id(const thread_key& key, const std::string& run_id);
[[nodiscard]] pg_statement find_run_by_idempotency(const thread_key& key, const std::string& name);
[[nodiscard]] pg_statement find_latest_run(const thread_key& key);
/// store::runs().
[[nodiscard]] pg_statement
select_runs_after(const thread_key& key, std::int64_t after, std::size_t limit);
/// The logs of the thread's runs are gone.
[[nodiscard]] pg_statement note_logs_dropped(std::int64_t thread);

/// One row: whether the thread has a run, or a queued request, with one of the ids or one of the
/// keys. Empty keys are ignored.
[[nodiscard]] pg_statement is_run_taken(
    const thread_key& key, const std::vector<std::string>& run_ids,
    const std::vector<std::string>& idempotency_keys
);
[[nodiscard]] pg_statement
is_any_run_taken(const thread_key& key, const std::vector<run_record>& runs);
[[nodiscard]] pg_statement is_request_taken(const thread_key& key, const queued_request& request);
/// One row: the count of the numbers that are in the thread's queue.
[[nodiscard]] pg_statement
count_queued(const thread_key& key, const std::vector<std::int64_t>& numbers);
/// Reads its result: whether all of them are there.
[[nodiscard]] bool are_queued(const pg_rows& count, const std::vector<std::int64_t>& numbers);
/// One row for each new number.
[[nodiscard]] pg_statement next_run_numbers(std::size_t count);
/// Writes changes::dequeued and changes::answered. `numbers` is the result of next_run_numbers().
void take_queued(
    pg_batch& to, std::int64_t thread, const changes& change, const pg_rows& numbers,
    unix_ms own_now
);
/// One row: whether the thread has the run with that number.
[[nodiscard]] pg_statement has_run(const thread_key& key, std::int64_t number);

/// The gateway whose journal gets the entries of a run (0 if none), and its first row that may have
/// some.
struct pg_journal_place {
    std::int64_t writer = 0;
    std::uint64_t from = 0;
};

/// A run that another one answers has no log: it counts as dropped. `own_now` is the current time
/// of the clock of the run's times (pg_clock::own_now()); the database stores them in its own time.
[[nodiscard]] pg_statement add_run(
    std::int64_t thread, std::int64_t number, const run_record& run, unix_ms own_now,
    pg_journal_place journal = {}
);
/// Updates the record as changes::run describes. A dropped log of a run that becomes active again
/// is kept from here on.
[[nodiscard]] pg_statement update_run(const run_record& run, unix_ms own_now);

/// NULL for an empty text.
[[nodiscard]] inline std::optional<std::string_view> text_or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::string_view>(text);
}

} // namespace agui::session
