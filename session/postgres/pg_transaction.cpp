#include "session/postgres/pg_transaction.hpp"

#include "session/base/pause.hpp"
#include "session/postgres/pg_settings.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <iterator>
#include <memory>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* settings = AGUI_PG_SETTINGS_OF_TRANSACTION;
// One statement, because each costs some microseconds on both sides.
constexpr const char* settings_and_enter = AGUI_PG_SETTINGS_OF_TRANSACTION ", agui.enter($2)";
constexpr const char* settings_of_read = "SELECT set_config('search_path', 'pg_catalog', true), "
                                         "set_config('statement_timeout', '20000', true)";
constexpr const char* relax = "SELECT set_config('synchronous_commit', 'off', true)";
constexpr const char* relax_and_enter =
    "SELECT set_config('synchronous_commit', 'off', true), agui.enter($1)";
constexpr const char* enter = "SELECT agui.enter($1)";
// Does not use the transaction's number (pg_xact_status): after a crash the server reuses the
// numbers of transactions that were not yet on the disk.
constexpr const char* leave_mark =
    "INSERT INTO agui.commit_marks AS m (writer, slot, mark) VALUES ($1, $2, $3) "
    "ON CONFLICT (writer, slot) DO UPDATE SET mark = excluded.mark, at = now()";
// It writes, so that it waits for a transaction that has not ended.
constexpr const char* last_mark =
    "INSERT INTO agui.commit_marks AS m (writer, slot, mark) VALUES ($1, $2, 0) "
    "ON CONFLICT (writer, slot) DO UPDATE SET at = now() RETURNING mark";

// A busy server may take this long, even if no call waits any more.
constexpr auto shortest_answer = 3s;

// Pause between two tries: a call that waits for the server asks no more often than this.
constexpr auto first_pause = 50ms;
constexpr auto longest_pause = 1000ms;

} // namespace

asio::awaitable<bool> pg_backoff::pause(clock::time_point deadline) {
    next_ = next_ == 0ms ? std::chrono::milliseconds(first_pause)
                         : std::min(next_ * 2, std::chrono::milliseconds(longest_pause));
    if (clock::now() + next_ >= deadline) {
        co_return false;
    }
    co_await agui::pause(next_);
    co_return true;
}

asio::awaitable<std::vector<pg_rows>> pg_transaction::execute(pg_batch statements) {
    const std::chrono::nanoseconds time = answer_max_ ? *answer_max_ : half_of_rest();
    return (*lent_)->execute(std::move(statements), clock::now() + time);
}

// The other half is for another connection.
std::chrono::nanoseconds pg_transaction::half_of_rest() const {
    const std::chrono::nanoseconds longest = answer_max_.value_or(pg_longest_answer);
    const std::chrono::nanoseconds half = (deadline_ - clock::now()) / 2;
    return std::min(longest, std::max<std::chrono::nanoseconds>(shortest_answer, half));
}

void pg_transaction::set_up(pg_batch& to) const {
    const bool enters = purpose_.gateway != 0;
    if (!(*lent_)->has_settings()) {
        if (enters) {
            to.emplace_back(settings_and_enter, purpose_.relaxed, purpose_.gateway);
        } else {
            to.emplace_back(settings, purpose_.relaxed);
        }
    } else if (enters) {
        to.emplace_back(purpose_.relaxed ? relax_and_enter : enter, purpose_.gateway);
    } else if (purpose_.relaxed) {
        to.emplace_back(relax);
    }
}

namespace {

void append(pg_batch& to, pg_batch&& from) {
    std::move(from.begin(), from.end(), std::back_inserter(to));
}

// The results of the statements between the first `before` and the last `after`.
std::vector<pg_rows> inner(std::vector<pg_rows> all, std::size_t before, std::size_t after) {
    if (all.size() < before + after) {
        throw std::logic_error("the server has not answered all statements");
    }
    all.resize(all.size() - after);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(before));
    return all;
}

} // namespace

asio::awaitable<std::vector<pg_rows>> pg_transaction::read(pg_batch statements) {
    pg_batch all;
    all.emplace_back("BEGIN ISOLATION LEVEL READ COMMITTED");
    set_up(all);
    mark_.emplace(pool_.marks());
    all.emplace_back(leave_mark, mark_->writer(), mark_->slot(), mark_->value());
    const std::size_t before = all.size();
    append(all, std::move(statements));
    co_return inner(co_await execute(std::move(all)), before, 0);
}

asio::awaitable<void> pg_transaction::commit(pg_batch statements) {
    statements.emplace_back("COMMIT");
    std::exception_ptr lost;
    try {
        // In any state of the connection, there must be time to ask for the outcome.
        (void)co_await (*lent_)->execute(std::move(statements), clock::now() + half_of_rest());
    } catch (const pg_error& error) {
        if (!error.is_connection_lost()) {
            throw;
        }
        lost = std::current_exception();
    }
    if (lost) {
        // Its place is needed for the question: all connections may have been lost at once.
        lent_.reset();
        pool_.drop_idle();
        const bool committed = co_await was_committed();
        if (!committed) {
            std::rethrow_exception(lost);
        }
    }
}

// Returns nullopt if the server does not say. Whatever its reason, that tells nothing about the
// transaction.
asio::awaitable<std::optional<std::int64_t>> pg_transaction::ask_for_mark() {
    const pg_pool::loan other = co_await pool_.take(deadline_);
    pg_batch question;
    question.emplace_back(last_mark, mark_->writer(), mark_->slot());
    try {
        const auto answer =
            co_await other->execute(std::move(question), clock::now() + half_of_rest());
        co_return answer.at(0).integer(0, 0);
    } catch (const pg_error&) {
        co_return std::nullopt;
    }
}

asio::awaitable<bool> pg_transaction::was_committed() {
    pg_backoff backoff;
    for (;;) {
        const std::optional<std::int64_t> found = co_await ask_for_mark();
        if (found) {
            co_return *found == mark_->value();
        }
        const bool is_over = !co_await backoff.pause(deadline_);
        if (is_over) {
            throw pg_unavailable("it is unknown whether the server committed a transaction");
        }
        pool_.drop_idle(); // A server that refuses the question may not be the one to ask.
    }
}

asio::awaitable<std::vector<pg_rows>> pg_transaction::write_at_once(pg_batch statements) {
    pg_batch all;
    // Needs no BEGIN and COMMIT: a batch is a transaction.
    set_up(all);
    const std::size_t before = all.size();
    append(all, std::move(statements));
    std::vector<pg_rows> results = co_await execute(std::move(all));
    co_return inner(std::move(results), before, 0);
}

asio::awaitable<std::vector<pg_rows>> pg_transaction::read_at_once(pg_batch statements) {
    const bool has_settings = (*lent_)->has_settings();
    if (has_settings && statements.size() == 1) {
        co_return co_await execute(std::move(statements)); // It has a snapshot of its own.
    }
    pg_batch all;
    all.emplace_back("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (!has_settings) {
        all.emplace_back(settings_of_read);
    }
    const std::size_t before = all.size();
    append(all, std::move(statements));
    all.emplace_back("COMMIT");
    std::vector<pg_rows> results = co_await execute(std::move(all));
    co_return inner(std::move(results), before, 1);
}

asio::awaitable<void> pg_transaction::end() {
    if (lent_ && (*lent_)->is_usable() && !(*lent_)->is_idle()) {
        pg_batch rollback;
        rollback.emplace_back("ROLLBACK");
        try {
            (void)co_await execute(std::move(rollback));
        } catch (const pg_error&) {
            (*lent_)->abandon(); // The server rolls back an open transaction.
        }
    }
}

} // namespace agui::session
