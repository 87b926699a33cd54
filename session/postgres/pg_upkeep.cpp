#include "session/postgres/pg_upkeep.hpp"

#include "session/base/as_result.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_upkeep_steps.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t days_ahead = 7;
// Long before the prepared days are over.
constexpr auto between_looks = 12h;
constexpr std::int64_t rows_at_once = 5000;
// Failed attempts may take this part of the limit for logs, in addition to it: a broken model
// server must not displace the logs.
constexpr std::uint64_t attempts_part = 8;
// Runs that end meanwhile have their rows joined in one transaction.
constexpr auto between_joins = 1s;
constexpr auto pause_after_failure = 30s;
// Limit of a transaction: a round trip and a flush of the disk are small beside the work for so
// many.
constexpr std::int64_t runs_joined_at_once = 100;
// Some tens of megabytes, which one statement rewrites well within its 20 s.
constexpr std::int64_t entries_joined_at_once = 100'000;

constexpr const char* make_days =
    "SELECT agui.make_log_partitions(agui.today() - 1, agui.today() + $1)";
// Oldest first. The row locks exclude other joins and drop_logs().
constexpr const char* runs_to_join =
    "SELECT number, last_sequence FROM agui.runs WHERE status <> 'active' AND log <> 'dropped' "
    "AND log_bytes IS NULL ORDER BY ended_at, number LIMIT $1 FOR UPDATE SKIP LOCKED";
// Pieces of about 256 KB. Runs with a few rows stay as they are: rewriting them saves nothing.
constexpr const char* join_log_rows =
    "WITH old AS (DELETE FROM agui.log_rows WHERE run = ANY($1) AND run IN "
    "(SELECT c.run FROM agui.log_rows c WHERE c.run = ANY($1) GROUP BY c.run HAVING count(*) > 4) "
    "RETURNING run, first_sequence, last_sequence, events, lengths, variants), "
    "pieces AS (SELECT *, sum(octet_length(events)) OVER (PARTITION BY run "
    "ORDER BY first_sequence) / 262144 AS piece FROM old) "
    "INSERT INTO agui.log_rows SELECT run, min(first_sequence), max(last_sequence), "
    "string_agg(events, ''::bytea ORDER BY first_sequence), "
    "string_agg(lengths, ''::bytea ORDER BY first_sequence), "
    "string_agg(variants, ''::bytea ORDER BY first_sequence) FROM pieces GROUP BY run, piece";
// Removes them from the index runs_to_join.
constexpr const char* note_bytes =
    "UPDATE agui.runs r SET log_bytes = (SELECT coalesce(sum(octet_length(l.events) + "
    "octet_length(l.lengths) + octet_length(l.variants)), 0) FROM agui.log_rows l "
    "WHERE l.run = r.number) WHERE r.number = ANY($1)";

// Marks the log as if it had no rows: they may not be readable.
constexpr const char* leave_unjoined =
    "UPDATE agui.runs SET log_bytes = 0 WHERE number = $1 AND log_bytes IS NULL";

// No transaction asks for a mark that is this old.
constexpr const char* erase_marks =
    "DELETE FROM agui.commit_marks WHERE at < now() - interval '1 day' RETURNING 1";
// Journals of gateways that are gone. The process that takes over their runs makes rows of their
// entries.
constexpr const char* erase_journals =
    "DELETE FROM agui.journal WHERE writer NOT IN (SELECT id FROM agui.gateways) "
    "AND writer NOT IN (SELECT journal_writer FROM agui.runs WHERE status = 'active') RETURNING 1";
constexpr const char* older_attempts =
    "DELETE FROM agui.failed_attempts WHERE number IN "
    "(SELECT number FROM agui.failed_attempts WHERE at < $1 ORDER BY at, number LIMIT $2)";
// Keeps the newest that fit.
constexpr const char* attempts_beyond =
    "DELETE FROM agui.failed_attempts WHERE number IN (SELECT number FROM (SELECT number, "
    "sum(bytes) OVER (ORDER BY at DESC, number DESC) AS newer FROM agui.failed_attempts) s "
    "WHERE newer > $1 LIMIT $2)";

constexpr const char* removed_threads = "SELECT thread FROM agui.removed_threads LIMIT 1";
constexpr const char* runs_of_removed =
    "SELECT number FROM agui.runs WHERE thread = $1 ORDER BY number LIMIT $2";
constexpr const char* erase_logs = "DELETE FROM agui.log_rows WHERE run = ANY($1)";
constexpr const char* erase_attempts = "DELETE FROM agui.failed_attempts WHERE run = ANY($1)";
constexpr const char* erase_runs = "DELETE FROM agui.runs WHERE number = ANY($1)";
constexpr const char* erase_messages =
    "DELETE FROM agui.messages WHERE thread = $1 AND number < $2 + "
    "(SELECT min(m.number) FROM agui.messages m WHERE m.thread = $1)";
constexpr const char* erase_events =
    "DELETE FROM agui.session_events WHERE thread = $1 AND sequence < $2 + "
    "(SELECT min(e.sequence) FROM agui.session_events e WHERE e.thread = $1)";
// A row of a journal stays, even without a part: its absence would show a loss.
constexpr const char* scrub_steps[] = {
    "UPDATE agui.journal j SET runs = coalesce(k.runs, '{}'), entries = coalesce(k.entries, '{}') "
    "FROM (SELECT i.writer, i.batch, "
    "array_agg(p.run ORDER BY p.n) FILTER (WHERE r.number IS NOT NULL) AS runs, "
    "array_agg(p.part ORDER BY p.n) FILTER (WHERE r.number IS NOT NULL) AS entries "
    "FROM agui.journal i CROSS JOIN LATERAL unnest(i.runs, i.entries) WITH ORDINALITY "
    "AS p(run, part, n) LEFT JOIN agui.runs r ON r.number = p.run "
    "GROUP BY i.writer, i.batch HAVING bool_or(r.number IS NULL)) k "
    "WHERE j.writer = k.writer AND j.batch = k.batch",
    "DELETE FROM agui.log_rows l WHERE NOT EXISTS "
    "(SELECT FROM agui.runs r WHERE r.number = l.run)",
    "DELETE FROM agui.failed_attempts a WHERE NOT EXISTS "
    "(SELECT FROM agui.runs r WHERE r.number = a.run)",
};
constexpr const char* erase_rest[] = {
    "DELETE FROM agui.calls WHERE thread = $1",
    "DELETE FROM agui.branches WHERE thread = $1",
    "DELETE FROM agui.queued_requests WHERE thread = $1",
    "DELETE FROM agui.thread_documents WHERE thread = $1",
    "DELETE FROM agui.removed_threads WHERE thread = $1",
};

} // namespace

pg_upkeep::pg_upkeep(pg_shared& shared) : shared_(shared), timer_(shared.context) {}

asio::awaitable<void> pg_upkeep::make_partitions() {
    (void)co_await write_one(shared_, make_days, days_ahead);
}

void pg_upkeep::on_run_ended() {
    if (!std::exchange(has_ended_runs_, true)) {
        timer_.cancel();
    }
}

asio::awaitable<void> pg_upkeep::work() {
    using clock = std::chrono::steady_clock;
    auto next_look = clock::now() + between_looks;
    std::chrono::milliseconds pause = between_joins;
    while (!is_closed_) {
        const bool joins = has_ended_runs_;
        timer_.expires_at(joins ? clock::now() + pause : next_look);
        co_await timer_.async_wait(as_result);
        if (is_closed_) {
            break;
        }
        pause = between_joins;
        std::string reason;
        try {
            if (clock::now() >= next_look) {
                next_look += between_looks;
                co_await make_partitions();
            }
            if (joins) {
                has_ended_runs_ = false;
                co_await join_ended();
            }
        } catch (const pg_unavailable& error) {
            reason = error.what();
        } catch (const pg_error& error) {
            reason = error.what();
        }
        if (!reason.empty()) {
            has_ended_runs_ = true;
            pause = pause_after_failure;
            shared_.log.log(
                log_level::warning, "the upkeep of the PostgreSQL store has failed",
                {{"reason", reason}}
            );
        }
    }
}

void pg_upkeep::close() noexcept {
    is_closed_ = true;
    timer_.cancel();
}

// A log that cannot be joined, because a row is damaged or the statement takes too long, must not
// block the others: the next tries take fewer runs, and a log that fails alone stays as it is.
asio::awaitable<void> pg_upkeep::join_ended() {
    std::int64_t most = runs_joined_at_once;
    for (bool goes_on = true; goes_on && !is_closed_;) {
        std::string reason;
        std::vector<std::int64_t> tried;
        try {
            goes_on = co_await join_some(most, tried);
            most = std::min(2 * most, runs_joined_at_once);
        } catch (const pg_error& error) {
            const bool may_pass = error.is_connection_lost() || error.may_succeed_later() ||
                                  error.needs_time() || error.is_stale_connection();
            if (may_pass || tried.empty()) {
                throw;
            }
            reason = error.what();
        }
        if (!reason.empty()) {
            if (most == 1) {
                shared_.log.log(
                    log_level::warning, "the rows of an ended run's log cannot be merged",
                    {{"run", std::to_string(tried.front())}, {"reason", reason}}
                );
                (void)co_await write_one(shared_, leave_unjoined, tried.front());
            }
            most = 1;
        }
    }
}

// Returns true if there may be more.
asio::awaitable<bool> pg_upkeep::join_some(std::int64_t most, std::vector<std::int64_t>& tried) {
    return transact<bool>(shared_.pool, shared_.patience, {}, [&, most, this](pg_transaction& in) {
        return join_some_in(in, most, tried);
    });
}

asio::awaitable<bool>
pg_upkeep::join_some_in(pg_transaction& in, std::int64_t most, std::vector<std::int64_t>& tried) {
    tried.clear();
    pg_batch look;
    look.emplace_back(runs_to_join, most);
    const auto found = co_await in.read(std::move(look));
    const pg_rows& runs = found.at(0);
    std::int64_t entries = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        entries += runs.integer(i, 1);
        if (!tried.empty() && entries > entries_joined_at_once) {
            break;
        }
        tried.push_back(runs.integer(i, 0));
    }
    if (!tried.empty()) {
        pg_batch change;
        change.emplace_back(join_log_rows, tried);
        change.emplace_back(note_bytes, tried);
        co_await in.commit(std::move(change));
    }
    co_return runs.size() == static_cast<std::size_t>(most);
}

asio::awaitable<void> pg_upkeep::drop_logs(store::log_limits limits) {
    co_await erase_removed();
    co_await make_partitions();
    (void)co_await write_one(shared_, erase_marks);
    (void)co_await write_one(shared_, erase_journals);
    co_await drop_attempts(limits);
    std::vector<std::int64_t> waiting = co_await drop_days(limits.ended_since);
    co_await drop_older(limits.ended_since, std::move(waiting));
    co_await join_ended(); // Logs that stopped gateways have left.
    if (limits.max_bytes != 0) {
        co_await drop_beyond(limits.max_bytes);
    }
}

asio::awaitable<void> pg_upkeep::drop_attempts(const store::log_limits& limits) {
    for (;;) {
        const pg_rows gone =
            co_await write_one(shared_, older_attempts, limits.ended_since, rows_at_once);
        if (gone.changed() == 0) {
            break;
        }
    }
    while (limits.max_bytes != 0) {
        const pg_rows gone = co_await write_one(
            shared_, attempts_beyond, static_cast<std::int64_t>(limits.max_bytes / attempts_part),
            rows_at_once
        );
        if (gone.changed() == 0) {
            break;
        }
    }
}

asio::awaitable<void> pg_upkeep::erase_removed() {
    for (;;) {
        const pg_rows next = co_await write_one(shared_, removed_threads);
        if (next.empty()) {
            co_return;
        }
        while (co_await erase_thread(next.integer(0, 0))) {
        }
    }
}

asio::awaitable<void> pg_upkeep::scrub() {
    for (const char* const each : scrub_steps) {
        (void)co_await write_one(shared_, each);
    }
}

// Deletes some rows of the thread. Returns false if none are left.
asio::awaitable<bool> pg_upkeep::erase_thread(std::int64_t thread) {
    const pg_rows runs = co_await write_one(shared_, runs_of_removed, thread, runs_at_once);
    if (!runs.empty()) {
        (void)co_await write_at_once(shared_, {}, [numbers = numbers_of(runs)] {
            pg_batch batch;
            // The runs come first, because a transaction that joins their rows locks them first.
            for (const char* const each : {erase_runs, erase_logs, erase_attempts}) {
                batch.emplace_back(each, numbers);
            }
            return batch;
        });
        co_return true;
    }
    for (const char* const each : {erase_messages, erase_events}) {
        const pg_rows gone = co_await write_one(shared_, each, thread, rows_at_once);
        if (gone.changed() != 0) {
            co_return true;
        }
    }
    (void)co_await write_at_once(shared_, {}, [thread] {
        pg_batch batch;
        for (const char* const each : erase_rest) {
            batch.emplace_back(each, thread);
        }
        return batch;
    });
    co_return false;
}

} // namespace agui::session
