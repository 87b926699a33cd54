#include "session/postgres/pg_runs.hpp"

#include "session/store/stored_rows.hpp"

#include <set>

namespace agui::session {

namespace {

constexpr const char* by_id =
    "SELECT " AGUI_PG_RUN_COLUMNS " FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND r.run_id = $3";
constexpr const char* by_key =
    "SELECT " AGUI_PG_RUN_COLUMNS " FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND r.idempotency_key = $3";
constexpr const char* latest =
    "SELECT " AGUI_PG_RUN_COLUMNS " FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND length(r.answered_by) = 0 ORDER BY r.number DESC LIMIT 1";
constexpr const char* later =
    "SELECT " AGUI_PG_RUN_COLUMNS " FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND r.number > $3 ORDER BY r.number LIMIT $4";
constexpr const char* drop_logs_of = "UPDATE agui.runs SET log = 'dropped' WHERE thread = $1";
constexpr const char* run_is_taken =
    "SELECT EXISTS (SELECT FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND r.run_id = ANY($3)) OR EXISTS (SELECT FROM agui.runs r WHERE r.thread = " AGUI_PG_THREAD
    " AND r.idempotency_key = ANY($4))";
constexpr const char* request_is_taken =
    "SELECT EXISTS (SELECT FROM agui.queued_requests q WHERE q.thread = " AGUI_PG_THREAD
    " AND (q.run_id = $3 OR q.idempotency_key = $4))";
constexpr const char* queued_count =
    "SELECT count(*) FROM agui.queued_requests q WHERE q.thread = " AGUI_PG_THREAD
    " AND q.number = ANY($3)";
// In the order of their numbers, which are given out while the thread is locked.
constexpr const char* run_numbers = "SELECT agui.next_run_number() FROM generate_series(1, $1)";
constexpr const char* take_requests =
    "DELETE FROM agui.queued_requests WHERE thread = $1 AND number = ANY($2)";
constexpr const char* run_is_there =
    "SELECT EXISTS (SELECT FROM agui.runs r WHERE r.number = $3 AND r.thread = " AGUI_PG_THREAD ")";
constexpr const char* insert_run =
    "INSERT INTO agui.runs (number, thread, run_id, parent_run_id, agent_id, input_digest, "
    "idempotency_key, protocol, status, end_reason, answered_by, started_at, ended_at, "
    "last_sequence, log, journal_writer, journal_from) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, "
    "$10, $11, $12, agui.shared_time($13, $16), $14, $15, $17, $18)";
constexpr const char* change_run =
    "UPDATE agui.runs SET parent_run_id = $2, agent_id = $3, status = $4, end_reason = $5, "
    "started_at = $6, ended_at = agui.shared_time($7, $10), "
    "last_sequence = $8, journal_writer = 0, "
    "input_digest = CASE WHEN length($9) = 0 THEN input_digest ELSE $9 END, "
    "log = CASE WHEN $4 = 'active' AND log = 'dropped' THEN 'kept' ELSE log END, "
    "sound_until = least(sound_until, $11) WHERE number = $1";

} // namespace

run_record pg_run_at(const pg_table& rows, std::size_t row) {
    run_record run = run_at(pg_row(rows, row));
    if (!rows.is_null(row, 13)) {
        run.sound_until = static_cast<std::uint64_t>(rows.integer(row, 13));
    }
    return run;
}

std::optional<run_record> first_run(const pg_rows& rows) {
    return rows.empty() ? std::nullopt : std::optional(pg_run_at(rows, 0));
}

pg_statement find_run_by_id(const thread_key& key, const std::string& run_id) {
    return pg_statement(by_id, key.principal, key.thread_id, run_id);
}

pg_statement find_run_by_idempotency(const thread_key& key, const std::string& name) {
    return pg_statement(by_key, key.principal, key.thread_id, name);
}

pg_statement find_latest_run(const thread_key& key) {
    return pg_statement(latest, key.principal, key.thread_id);
}

pg_statement select_runs_after(const thread_key& key, std::int64_t after, std::size_t limit) {
    return pg_statement(later, key.principal, key.thread_id, after, limit);
}

pg_statement note_logs_dropped(std::int64_t thread) { return pg_statement(drop_logs_of, thread); }

pg_statement is_run_taken(
    const thread_key& key, const std::vector<std::string>& run_ids,
    const std::vector<std::string>& idempotency_keys
) {
    std::vector<std::string_view> keys;
    for (const std::string& each : idempotency_keys) {
        if (!each.empty()) {
            keys.emplace_back(each);
        }
    }
    return pg_statement(run_is_taken, key.principal, key.thread_id, run_ids, keys);
}

pg_statement is_any_run_taken(const thread_key& key, const std::vector<run_record>& runs) {
    std::vector<std::string> ids;
    std::vector<std::string> keys;
    for (const run_record& each : runs) {
        ids.push_back(each.run_id);
        keys.push_back(each.idempotency_key);
    }
    return is_run_taken(key, ids, keys);
}

pg_statement is_request_taken(const thread_key& key, const queued_request& request) {
    return pg_statement(
        request_is_taken, key.principal, key.thread_id, request.run_id,
        text_or_null(request.idempotency_key)
    );
}

pg_statement count_queued(const thread_key& key, const std::vector<std::int64_t>& numbers) {
    return pg_statement(queued_count, key.principal, key.thread_id, numbers);
}

bool are_queued(const pg_rows& count, const std::vector<std::int64_t>& numbers) {
    return static_cast<std::size_t>(count.integer(0, 0)) ==
           std::set(numbers.begin(), numbers.end()).size();
}

pg_statement next_run_numbers(std::size_t count) { return pg_statement(run_numbers, count); }

void take_queued(
    pg_batch& to, std::int64_t thread, const changes& change, const pg_rows& numbers,
    unix_ms own_now
) {
    if (!change.dequeued.empty()) {
        to.emplace_back(take_requests, thread, change.dequeued);
    }
    std::size_t next = 0;
    for (const run_record& answered : change.answered) {
        to.push_back(add_run(thread, numbers.integer(next++, 0), answered, own_now));
    }
}

pg_statement has_run(const thread_key& key, std::int64_t number) {
    return pg_statement(run_is_there, key.principal, key.thread_id, number);
}

pg_statement add_run(
    std::int64_t thread, std::int64_t number, const run_record& run, unix_ms own_now,
    pg_journal_place journal
) {
    return pg_statement(
        insert_run, number, thread, run.run_id, run.parent_run_id, run.agent_id, run.input_digest,
        text_or_null(run.idempotency_key), run.protocol, pg_text{to_string(run.status)},
        run.end_reason, run.answered_by, run.started_at, run.ended_at, run.last_sequence,
        pg_text{run.answered_by.empty() ? "kept" : "dropped"}, own_now, journal.writer, journal.from
    );
}

pg_statement update_run(const run_record& run, unix_ms own_now) {
    return pg_statement(
        change_run, run.number, run.parent_run_id, run.agent_id, pg_text{to_string(run.status)},
        run.end_reason, run.started_at, run.ended_at, run.last_sequence, run.input_digest, own_now,
        run.sound_until
    );
}

} // namespace agui::session
