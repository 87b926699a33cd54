#pragma once

#include "session/postgres/pg_shared.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agui::session {

/// The upkeep of the tables: joins rows of ended logs, drops old logs and attempts, and deletes
/// rows of removed threads. Each step is a short transaction. Belongs to the store's thread.
class pg_upkeep {
public:
    explicit pg_upkeep(pg_shared& shared);

    /// Makes the partitions for the logs of runs that begin within the next days. Throws pg_error
    /// or pg_unavailable, as the functions below do.
    [[nodiscard]] boost::asio::awaitable<void> make_partitions();

    /// Notes that a run has ended and that the rows of its log are to be joined. Does not wait.
    void on_run_ended();
    /// Joins the rows of ended runs of all gateways, a second after on_run_ended() and at the
    /// start, and maintains the partitions, until close(). Call it once.
    [[nodiscard]] boost::asio::awaitable<void> work();
    void close() noexcept;

    /// Like store::drop_logs().
    [[nodiscard]] boost::asio::awaitable<void> drop_logs(store::log_limits limits);
    /// Deletes the rows of threads that were removed.
    [[nodiscard]] boost::asio::awaitable<void> erase_removed();
    /// Erases what erased runs have left: entries in the journals of all gateways, rows of logs and
    /// attempts that were written late.
    [[nodiscard]] boost::asio::awaitable<void> scrub();

private:
    boost::asio::awaitable<void> join_ended();
    boost::asio::awaitable<bool> join_some(std::int64_t most, std::vector<std::int64_t>& tried);
    boost::asio::awaitable<bool>
    join_some_in(pg_transaction& in, std::int64_t most, std::vector<std::int64_t>& tried);
    boost::asio::awaitable<std::vector<std::int64_t>> drop_days(unix_ms ended_since);
    boost::asio::awaitable<bool> drop_day(std::int64_t day, unix_ms ended_since);
    boost::asio::awaitable<void> drop_some(std::vector<std::int64_t> runs);
    boost::asio::awaitable<void>
    drop_older(unix_ms ended_since, std::vector<std::int64_t> but_of_days);
    boost::asio::awaitable<void> drop_beyond(std::uint64_t max_bytes);
    boost::asio::awaitable<void> drop_attempts(const store::log_limits& limits);
    boost::asio::awaitable<bool> erase_thread(std::int64_t thread);

    pg_shared& shared_;
    boost::asio::steady_timer timer_;
    bool has_ended_runs_ = true; ///< True at first: an earlier process may have left some.
    bool is_closed_ = false;
};

} // namespace agui::session
