#include "session/postgres/pg_upkeep.hpp"

#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_upkeep_steps.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t days_ahead = 7;
// Long before the days ahead are over.
constexpr auto between_looks = 12h;
constexpr std::int64_t rows_at_once = 5000;
// Failed attempts have this part of what logs may take, in addition: a broken model server must not
// displace the logs.
constexpr std::uint64_t attempts_part = 8;
// What waits for its rows to be joined; more stay as they are until drop_logs().
constexpr std::size_t ended_max = 10'000;

constexpr const char* make_days =
    "SELECT agui.make_log_partitions(agui.today() - 1, agui.today() + $1)";
// Pieces of about 256 KB. Runs with a few rows stay as they are: rewriting them saves nothing.
constexpr const char* join_log_rows =
    "WITH old AS (DELETE FROM agui.log_rows WHERE run = $1 AND 4 < "
    "(SELECT count(*) FROM agui.log_rows c WHERE c.run = $1) "
    "RETURNING first_sequence, last_sequence, events, lengths, variants), "
    "pieces AS (SELECT *, sum(octet_length(events)) OVER (ORDER BY first_sequence) / 262144 "
    "AS piece FROM old) "
    "INSERT INTO agui.log_rows SELECT $1, min(first_sequence), max(last_sequence), "
    "string_agg(events, ''::bytea ORDER BY first_sequence), "
    "string_agg(lengths, ''::bytea ORDER BY first_sequence), "
    "string_agg(variants, ''::bytea ORDER BY first_sequence) FROM pieces GROUP BY piece";
constexpr const char* note_bytes =
    "UPDATE agui.runs SET log_bytes = (SELECT coalesce(sum(octet_length(events) + "
    "octet_length(lengths) + octet_length(variants)), 0) FROM agui.log_rows WHERE run = $1) "
    "WHERE number = $1 AND status <> 'active'";
constexpr const char* left_to_join =
    "SELECT number FROM agui.runs WHERE status <> 'active' AND log <> 'dropped' "
    "AND log_bytes IS NULL ORDER BY ended_at LIMIT $1";

// Nobody asks for a mark that is so old.
constexpr const char* erase_marks =
    "DELETE FROM agui.commit_marks WHERE at < now() - interval '1 day' RETURNING 1";
constexpr const char* erase_watches =
    "DELETE FROM agui.run_watches w "
    "WHERE NOT EXISTS (SELECT FROM agui.gateways g WHERE g.id = w.gateway)";
constexpr const char* older_attempts =
    "DELETE FROM agui.failed_attempts WHERE number IN "
    "(SELECT number FROM agui.failed_attempts WHERE at < $1 ORDER BY at, number LIMIT $2)";
// The newest that fit.
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

void pg_upkeep::join_rows_of(std::int64_t run) {
    if (ended_.size() < ended_max) {
        ended_.push_back(run);
        timer_.cancel();
    }
}

asio::awaitable<void> pg_upkeep::work() {
    auto next_look = std::chrono::steady_clock::now() + between_looks;
    while (!is_closed_) {
        if (ended_.empty()) {
            timer_.expires_at(next_look);
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        try {
            if (!is_closed_ && !ended_.empty()) {
                const std::int64_t run = ended_.front();
                ended_.pop_front();
                co_await join_rows(run);
            } else if (!is_closed_ && std::chrono::steady_clock::now() >= next_look) {
                next_look += between_looks;
                co_await make_partitions();
            }
        } catch (const pg_unavailable&) {
            continue; // drop_logs() does what is left.
        } catch (const pg_error& error) {
            shared_.log.log(
                log_level::warning, "the PostgreSQL store could not be kept in order",
                {{"reason", error.what()}}
            );
        }
    }
}

void pg_upkeep::close() noexcept {
    is_closed_ = true;
    timer_.cancel();
}

asio::awaitable<void> pg_upkeep::join_rows(std::int64_t run) {
    (void)co_await write_at_once(shared_, {}, [run] {
        pg_batch batch;
        batch.emplace_back(join_log_rows, run);
        batch.emplace_back(note_bytes, run);
        return batch;
    });
}

// Of runs whose gateway has ended before it could.
asio::awaitable<void> pg_upkeep::join_left_rows() {
    for (;;) {
        const pg_rows left = co_await write_one(shared_, left_to_join, runs_at_once);
        if (left.empty()) {
            co_return;
        }
        for (const std::int64_t run : numbers_of(left)) {
            co_await join_rows(run);
        }
    }
}

asio::awaitable<void> pg_upkeep::drop_logs(store::log_limits limits) {
    co_await erase_removed();
    co_await make_partitions();
    (void)co_await write_one(shared_, erase_marks);
    (void)co_await write_one(shared_, erase_watches);
    co_await drop_attempts(limits);
    std::vector<std::int64_t> waiting = co_await drop_days(limits.ended_since);
    co_await drop_older(limits.ended_since, std::move(waiting));
    if (limits.max_bytes != 0) {
        co_await join_left_rows();
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

// Some rows of it. False: there are none left.
asio::awaitable<bool> pg_upkeep::erase_thread(std::int64_t thread) {
    const pg_rows runs = co_await write_one(shared_, runs_of_removed, thread, runs_at_once);
    if (!runs.empty()) {
        (void)co_await write_at_once(shared_, {}, [numbers = numbers_of(runs)] {
            pg_batch batch;
            for (const char* const each : {erase_logs, erase_attempts, erase_runs}) {
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
