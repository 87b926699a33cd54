// The deletion of old logs.
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_upkeep.hpp"
#include "session/postgres/pg_upkeep_steps.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

constexpr unix_ms a_day = 24LL * 60 * 60 * 1000;
constexpr std::int64_t marks_at_once = 5000;

// Materialized: a name of another table must not be read as a number.
constexpr const char* partitions =
    "WITH p AS MATERIALIZED (SELECT c.relname::text AS name FROM pg_inherits i "
    "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'agui.log_rows'::regclass) "
    "SELECT substr(name, 10)::bigint FROM p "
    "WHERE substr(name, 10)::bigint < least($1, agui.today()) ORDER BY 1";
// Empty if every run that began on that day ended before that time.
constexpr const char* needed_of_day =
    "SELECT number FROM agui.runs WHERE number >= $1 << 40 AND number < ($1 + 1) << 40 "
    "AND (status = 'active' OR ended_at >= $2) LIMIT 1";
// The next runs of a day, after a known number.
constexpr const char* mark_some_of_day =
    "WITH marked AS (UPDATE agui.runs SET log = 'dropped' WHERE number IN "
    "(SELECT number FROM agui.runs WHERE number >= greatest($1 << 40, $2 + 1) "
    "AND number < ($1 + 1) << 40 AND log <> 'dropped' ORDER BY number LIMIT $3) RETURNING number) "
    "SELECT max(number) FROM marked HAVING count(*) > 0";
// Readers and writers of logs queue behind this lock, so it must not wait for long.
constexpr const char* wait_briefly = "SELECT set_config('lock_timeout', '200', true)";
constexpr const char* older_runs =
    "SELECT number FROM agui.runs WHERE status <> 'active' AND log <> 'dropped' AND ended_at < $1 "
    "AND number >> 40 <> ALL($3) ORDER BY ended_at LIMIT $2";
constexpr const char* bytes_of_logs = "SELECT coalesce(sum(log_bytes), 0)::bigint FROM agui.runs "
                                      "WHERE status <> 'active' AND log <> 'dropped'";
constexpr const char* oldest_runs =
    "SELECT number, coalesce(log_bytes, 0) FROM agui.runs "
    "WHERE status <> 'active' AND log <> 'dropped' ORDER BY ended_at LIMIT $1";
constexpr const char* mark_runs =
    "UPDATE agui.runs SET log = 'dropped' WHERE number = ANY($1) AND status <> 'active'";
constexpr const char* erase_rows =
    "DELETE FROM agui.log_rows l USING agui.runs r WHERE l.run = ANY($1) AND r.number = l.run "
    "AND r.log = 'dropped'";

std::int64_t day_of(unix_ms time) { return time / a_day; }

enum class day_is { dropped, needed, in_use };

asio::awaitable<day_is> drop_day_in(pg_transaction& in, std::int64_t day, unix_ms ended_since) {
    pg_batch first;
    first.emplace_back(needed_of_day, day, ended_since);
    const auto needed = co_await in.read(std::move(first));
    if (!needed.at(0).empty()) {
        co_return day_is::needed;
    }
    pg_batch change;
    change.emplace_back(wait_briefly);
    change.push_back(pg_statement::once("DROP TABLE IF EXISTS agui.log_rows_" + std::to_string(day))
    );
    try {
        co_await in.commit(std::move(change));
    } catch (const pg_error& error) {
        if (error.sqlstate() != "55P03") {
            throw;
        }
        co_return day_is::in_use;
    }
    co_return day_is::dropped;
}

} // namespace

// Drops whole days at once, without a DELETE and without work for VACUUM. Returns the days that can
// be dropped like this within a day.
asio::awaitable<std::vector<std::int64_t>> pg_upkeep::drop_days(unix_ms ended_since) {
    std::vector<std::int64_t> waiting{day_of(ended_since)};
    const pg_rows days = co_await write_one(shared_, partitions, day_of(ended_since));
    for (const std::int64_t day : numbers_of(days)) {
        const bool is_due = co_await drop_day(day, ended_since);
        if (!is_due) {
            const pg_rows needed =
                co_await write_one(shared_, needed_of_day, day, ended_since + a_day);
            if (!needed.empty()) {
                continue;
            }
        }
        waiting.push_back(day);
    }
    co_return waiting;
}

// Returns false if its logs are still needed, and true if it is dropped, or will be when it is not
// in use.
asio::awaitable<bool> pg_upkeep::drop_day(std::int64_t day, unix_ms ended_since) {
    const pg_rows needed = co_await write_one(shared_, needed_of_day, day, ended_since);
    if (!needed.empty()) {
        co_return false;
    }
    // Not in the transaction that drops the day, because the runs are many.
    for (std::int64_t marked = 0;;) {
        const pg_rows last =
            co_await write_one(shared_, mark_some_of_day, day, marked, marks_at_once);
        if (last.empty()) {
            break;
        }
        marked = last.integer(0, 0);
    }
    const day_is found =
        co_await transact<day_is>(shared_.pool, shared_.patience, {}, [&](pg_transaction& in) {
            return drop_day_in(in, day, ended_since);
        });
    co_return found != day_is::needed;
}

asio::awaitable<void> pg_upkeep::drop_some(std::vector<std::int64_t> runs) {
    (void)co_await write_at_once(shared_, {}, [runs = std::move(runs)] {
        pg_batch batch;
        batch.emplace_back(mark_runs, runs);
        batch.emplace_back(erase_rows, runs);
        return batch;
    });
}

// Drops logs of days that stay for other reasons.
asio::awaitable<void>
pg_upkeep::drop_older(unix_ms ended_since, std::vector<std::int64_t> but_of_days) {
    for (;;) {
        const pg_rows older =
            co_await write_one(shared_, older_runs, ended_since, runs_at_once, but_of_days);
        if (older.empty()) {
            co_return;
        }
        co_await drop_some(numbers_of(older));
    }
}

asio::awaitable<void> pg_upkeep::drop_beyond(std::uint64_t max_bytes) {
    const pg_rows sum = co_await write_one(shared_, bytes_of_logs);
    auto left = static_cast<std::uint64_t>(sum.integer(0, 0));
    while (left > max_bytes) {
        const pg_rows oldest = co_await write_one(shared_, oldest_runs, runs_at_once);
        std::vector<std::int64_t> runs;
        for (std::size_t i = 0; i < oldest.size() && left > max_bytes; ++i) {
            runs.push_back(oldest.integer(i, 0));
            left -= std::min(left, static_cast<std::uint64_t>(oldest.integer(i, 1)));
        }
        if (runs.empty()) {
            co_return;
        }
        co_await drop_some(std::move(runs));
    }
}

} // namespace agui::session
