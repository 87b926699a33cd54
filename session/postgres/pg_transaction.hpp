#pragma once

#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_params.hpp"
#include "session/postgres/pg_pool.hpp"
#include "session/postgres/pg_result.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {

using pg_batch = std::vector<pg_statement>;

/// The purpose of a transaction.
struct pg_purpose {
    /// The gateway that writes: pg_error::is_fenced() if it has lost its leases. With 0 no gateway
    /// is checked.
    std::int64_t gateway = 0;
    /// True if COMMIT does not wait for the disk: a crash of the server may lose it.
    bool relaxed = false;
};

/// One try of a transaction, on one connection: either read() once, and after it commit() or
/// nothing; or one of the others. Everything that it sets ends with it, so that it also works
/// through a pooler that gives each transaction another connection.
class pg_transaction {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// The caller waits until `deadline`; see pg_patience for `answer_max`.
    pg_transaction(
        pg_pool& pool, pg_pool::loan lent, pg_purpose purpose, time_point deadline,
        std::optional<std::chrono::milliseconds> answer_max
    )
        : pool_(pool),
          lent_(std::move(lent)),
          purpose_(purpose),
          deadline_(deadline),
          answer_max_(answer_max) {}

    /// Begins it, and returns the results of the statements, one for each.
    [[nodiscard]] boost::asio::awaitable<std::vector<pg_rows>> read(pg_batch statements);
    /// Executes the statements and COMMIT. It returns no results, because they are unknown if the
    /// connection is lost. In that case it finds out whether the commit took effect. Throws
    /// pg_error (connection_lost) if it did not, and pg_unavailable if that cannot be found out in
    /// time: only then is the outcome unknown, and the transaction must not be repeated.
    [[nodiscard]] boost::asio::awaitable<void> commit(pg_batch statements);

    /// Executes all in one round trip. If the connection is lost, it may have taken effect, and a
    /// retry does it again.
    [[nodiscard]] boost::asio::awaitable<std::vector<pg_rows>> write_at_once(pg_batch statements);
    /// Executes all in one round trip, on the same snapshot.
    [[nodiscard]] boost::asio::awaitable<std::vector<pg_rows>> read_at_once(pg_batch statements);

    /// Rolls back a transaction that was begun and not committed. Does not throw.
    [[nodiscard]] boost::asio::awaitable<void> end();

private:
    boost::asio::awaitable<std::vector<pg_rows>> execute(pg_batch statements);
    [[nodiscard]] std::chrono::nanoseconds half_of_rest() const;
    void set_up(pg_batch& to) const;
    boost::asio::awaitable<bool> was_committed();
    boost::asio::awaitable<std::optional<std::int64_t>> ask_for_mark();

    pg_pool& pool_;
    std::optional<pg_pool::loan> lent_; ///< nullopt if it was lost with the COMMIT.
    const pg_purpose purpose_;
    const time_point deadline_;
    const std::optional<std::chrono::milliseconds> answer_max_;
    /// The mark that it leaves in the database, which shows its outcome.
    std::optional<pg_commit_marks::mark> mark_;
};

/// Pauses between tries, each longer than the one before.
class pg_backoff {
public:
    /// Returns false at once if the pause would last until `deadline`.
    [[nodiscard]] boost::asio::awaitable<bool> pause(std::chrono::steady_clock::time_point deadline
    );

private:
    std::chrono::milliseconds next_{0};
};

/// Limits on how long a call waits and retries.
struct pg_patience {
    std::chrono::milliseconds store_wait{10'000};
    /// The longest wait for each answer. nullopt for half of the remaining time, because the
    /// machine behind a connection may have vanished silently and a new connection needs the other
    /// half. On that connection it then waits as long as a statement may take.
    std::optional<std::chrono::milliseconds> answer_max{};
    pg_pool::urgency urgency = pg_pool::urgency::waits_in_line;
};

/// Longer than the server's limit for a statement.
inline constexpr std::chrono::milliseconds pg_longest_answer{30'000};

/// Carries out `work` with a transaction. Retries with a new one if the connection is lost before
/// its commit, or if the server refused it because of concurrent transactions; after a pause if the
/// server needs time. Passes on exceptions of `work`. Throws pg_unavailable if there is no
/// connection until the deadline, or if the server needs time until then. `work` must be callable
/// again after each try.
template <class T>
boost::asio::awaitable<T> transact(
    pg_pool& pool, pg_patience patience, pg_purpose purpose,
    std::function<boost::asio::awaitable<T>(pg_transaction&)> work
) {
    // Conflicts with other transactions end soon; a server that keeps refusing has another reason.
    // Lost connections do not count as tries.
    constexpr int tries_max = 10;
    const auto deadline = std::chrono::steady_clock::now() + patience.store_wait;
    pg_backoff backoff;
    for (int tries = 1;;) {
        std::optional<T> done;
        std::exception_ptr failed;
        bool again = false;
        std::string needs_time;
        {
            pg_pool::loan lent = co_await pool.take(deadline, patience.urgency);
            pg_transaction transaction(
                pool, std::move(lent), purpose, deadline, patience.answer_max
            );
            try {
                done.emplace(co_await work(transaction));
            } catch (const pg_error& error) {
                failed = std::current_exception();
                again = error.is_connection_lost() || error.may_succeed_later() ||
                        error.is_stale_connection();
                if (error.needs_time()) {
                    needs_time = error.what();
                }
                if (error.is_read_only()) {
                    pool.drop_idle(); // The idle ones lead to the same server.
                }
                if (error.is_connection_lost()) {
                    pool.drop_idle(); // So that the next one is new.
                    patience.answer_max = patience.answer_max.value_or(pg_longest_answer);
                } else if (!error.needs_time()) {
                    ++tries;
                }
            } catch (...) {
                failed = std::current_exception();
            }
            co_await transaction.end();
        }
        if (done) {
            co_return std::move(*done);
        }
        if (!needs_time.empty()) {
            const bool has_time = co_await backoff.pause(deadline);
            if (!has_time) {
                throw pg_unavailable(needs_time);
            }
            continue;
        }
        const bool is_over = std::chrono::steady_clock::now() >= deadline;
        if (!again || is_over || tries > tries_max) {
            std::rethrow_exception(failed);
        }
    }
}

} // namespace agui::session
