#include "session/sqlite/sqlite_runs.hpp"

#include "session/store/stored_rows.hpp"

#include <stdexcept>

namespace agui::session {

namespace {

// The columns of run_at().
constexpr std::string_view run_columns =
    "r.number, r.run_id, r.parent_run_id, r.agent_id, "
    "r.input_digest, r.status, r.end_reason, r.started_at, "
    "r.ended_at, r.last_sequence, r.idempotency_key, r.protocol, r.answered_by";
constexpr std::string_view of_thread_key =
    "WHERE r.thread = (SELECT id FROM threads WHERE principal = ? AND thread_id = ?) ";

std::string select_runs(std::string_view rest) {
    return "SELECT " + std::string(run_columns) + " FROM runs r " + std::string(rest);
}

std::string_view name_of(log_state state) noexcept {
    switch (state) {
    case log_state::kept:
        return "kept";
    case log_state::dropped:
        return "dropped";
    case log_state::damaged:
        return "damaged";
    }
    return "damaged";
}

log_state log_state_from_string(std::string_view name) noexcept {
    if (name == "kept") {
        return log_state::kept;
    }
    return name == "dropped" ? log_state::dropped : log_state::damaged;
}

} // namespace

sqlite_runs::sqlite_runs(database& db)
    : db_(db),
      exists_(
          db, "SELECT 1 FROM runs WHERE thread = ?1 AND run_id = ?2 UNION ALL "
              "SELECT 1 FROM runs WHERE thread = ?1 AND idempotency_key = ?3"
      ),
      add_(
          db,
          "INSERT INTO runs (number, thread, run_id, parent_run_id, agent_id, status, end_reason, "
          "started_at, ended_at, last_sequence, input_digest, idempotency_key, protocol, "
          "answered_by, log) "
          "VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), ?, ?, ?)"
      ),
      update_(
          db, "UPDATE runs SET parent_run_id = ?1, agent_id = ?2, status = ?3, end_reason = ?4, "
              "started_at = ?5, ended_at = ?6, last_sequence = ?7, "
              "input_digest = CASE WHEN ?10 = '' THEN input_digest ELSE ?10 END, "
              "log = CASE WHEN ?3 = 'active' AND log = 'dropped' THEN 'kept' ELSE log END "
              "WHERE number = ?8 AND thread = ?9"
      ),
      find_(db, select_runs("WHERE r.thread = ? AND r.run_id = ?")),
      find_by_key_(db, select_runs(std::string(of_thread_key) + "AND r.idempotency_key = ?")),
      latest_(
          db, select_runs(
                  std::string(of_thread_key) + "AND r.answered_by = '' "
                                               "ORDER BY r.number DESC LIMIT 1"
              )
      ),
      page_(
          db, select_runs(std::string(of_thread_key) + "AND r.number > ? ORDER BY r.number LIMIT ?")
      ),
      log_of_(db, "SELECT log, last_sequence FROM runs WHERE number = ?"),
      set_log_state_(db, "UPDATE runs SET log = ? WHERE number = ?"),
      with_log_(
          db, "SELECT number FROM runs WHERE status <> 'active' AND log <> 'dropped' "
              "AND ended_at < ? ORDER BY ended_at LIMIT ?"
      ),
      with_rows_(
          db, "SELECT number FROM runs WHERE status <> 'active' AND log <> 'dropped' "
              "AND EXISTS (SELECT 1 FROM run_logs WHERE run = number) ORDER BY ended_at LIMIT ?"
      ) {}

bool sqlite_runs::exists(std::int64_t thread, const run_record& run) {
    statement::rows row = exists_.query(thread, run.run_id, run.idempotency_key);
    return row.next();
}

std::int64_t sqlite_runs::add(std::int64_t thread, const run_record& run) {
    add_.execute(
        run.number, thread, run.run_id, run.parent_run_id, run.agent_id, to_string(run.status),
        run.end_reason, run.started_at, run.ended_at, run.last_sequence, run.input_digest,
        run.idempotency_key, run.protocol, run.answered_by,
        name_of(run.answered_by.empty() ? log_state::kept : log_state::dropped)
    );
    return db_.last_insert_id();
}

bool sqlite_runs::update(std::int64_t thread, const run_record& run) {
    update_.execute(
        run.parent_run_id, run.agent_id, to_string(run.status), run.end_reason, run.started_at,
        run.ended_at, run.last_sequence, run.number, thread, run.input_digest
    );
    return db_.changed_rows() != 0;
}

std::optional<run_record> sqlite_runs::find(std::int64_t thread, const std::string& run_id) {
    statement::rows row = find_.query(thread, run_id);
    return row.next() ? std::optional(run_at(row)) : std::nullopt;
}

std::optional<run_record>
sqlite_runs::find_by_key(const thread_key& key, const std::string& idempotency_key) {
    statement::rows row = find_by_key_.query(key.principal, key.thread_id, idempotency_key);
    return row.next() ? std::optional(run_at(row)) : std::nullopt;
}

std::optional<run_record> sqlite_runs::latest(const thread_key& key) {
    statement::rows row = latest_.query(key.principal, key.thread_id);
    return row.next() ? std::optional(run_at(row)) : std::nullopt;
}

std::vector<run_record>
sqlite_runs::page(const thread_key& key, std::int64_t after, std::size_t limit) {
    std::vector<run_record> found;
    statement::rows row = page_.query(key.principal, key.thread_id, after, std::uint64_t{limit});
    while (row.next()) {
        found.push_back(run_at(row));
    }
    return found;
}

std::vector<sqlite_runs::active_run> sqlite_runs::active(const std::optional<thread_key>& thread) {
    statement select(
        db_, "SELECT " + std::string(run_columns) +
                 ", t.principal, t.thread_id FROM runs r JOIN threads t ON t.id = r.thread "
                 "WHERE r.status = 'active' "
                 "AND (?1 = 0 OR t.principal = ?2 AND t.thread_id = ?3) ORDER BY r.number"
    );
    std::vector<active_run> found;
    const thread_key wanted = thread.value_or(thread_key());
    statement::rows row =
        select.query(std::int64_t{thread.has_value()}, wanted.principal, wanted.thread_id);
    while (row.next()) {
        found.push_back({
            .key = {std::string(row.text(13)), std::string(row.text(14))},
            .run = run_at(row),
        });
    }
    return found;
}

std::vector<std::int64_t> sqlite_runs::of_thread(std::int64_t thread) {
    statement select(db_, "SELECT number FROM runs WHERE thread = ?");
    std::vector<std::int64_t> numbers;
    statement::rows row = select.query(thread);
    while (row.next()) {
        numbers.push_back(row.integer(0));
    }
    return numbers;
}

void sqlite_runs::erase_of_thread(std::int64_t thread) {
    db_.execute("DELETE FROM runs WHERE thread = " + std::to_string(thread));
}

std::optional<sqlite_runs::log_position> sqlite_runs::log_of(std::int64_t number) {
    statement::rows row = log_of_.query(number);
    if (!row.next()) {
        return std::nullopt;
    }
    return log_position{
        .state = log_state_from_string(row.text(0)),
        .last_sequence = static_cast<std::uint64_t>(row.integer(1)),
    };
}

void sqlite_runs::set_log_state(std::int64_t number, log_state state) {
    set_log_state_.execute(name_of(state), number);
}

std::vector<std::int64_t> sqlite_runs::with_log_before(unix_ms older_than, std::size_t limit) {
    std::vector<std::int64_t> numbers;
    statement::rows row = with_log_.query(older_than, std::uint64_t{limit});
    while (row.next()) {
        numbers.push_back(row.integer(0));
    }
    return numbers;
}

std::vector<std::int64_t> sqlite_runs::with_rows(std::size_t limit) {
    std::vector<std::int64_t> numbers;
    statement::rows row = with_rows_.query(std::uint64_t{limit});
    while (row.next()) {
        numbers.push_back(row.integer(0));
    }
    return numbers;
}

} // namespace agui::session
