// How entries get from memory to the table.
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_logs.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <iterator>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Entries of many runs gather for a transaction: with a fast disk there would be one for each token
// otherwise. A reader does not notice it.
constexpr auto between_batches = 2ms;
// Of one transaction; a run that has said more is written whole.
constexpr std::size_t batch_bytes_max = 4U << 20U;

} // namespace

// While it writes or pauses, nobody wakes it: it looks for more by itself.
asio::awaitable<void> pg_logs::write() {
    for (;;) {
        const auto begun = clock::now();
        batch next = collect();
        if (!next.empty()) {
            co_await write_batch(std::move(next));
            writer_timer_.expires_at(begun + between_batches);
        } else {
            const std::lock_guard lock(mutex_);
            if (!due_.empty()) {
                continue;
            }
            if (is_finished_) {
                co_return;
            }
            writer_is_told_ = false;
            writer_timer_.expires_at(clock::time_point::max());
        }
        co_await writer_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

pg_logs::batch pg_logs::collect() {
    batch next;
    std::size_t bytes = 0;
    std::size_t count = 0;
    const std::lock_guard lock(mutex_);
    for (; count < due_.size() && bytes < batch_bytes_max; ++count) {
        const auto found = runs_.find(due_[count]);
        if (found == runs_.end()) {
            continue;
        }
        run_log& log = found->second;
        log.is_due = false;
        if (log.is_busy || log.pending.empty()) {
            continue; // give_back() makes it due again.
        }
        log.is_busy = true;
        taken& entries = next.emplace_back();
        entries.run = found->first;
        entries.is_known = true;
        entries.end = log.end;
        entries.row = std::exchange(log.pending, {});
        entries.observers = std::exchange(log.observers, {});
        bytes += entries.row.bytes();
    }
    due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(count));
    return next;
}

asio::awaitable<void> pg_logs::write_batch(batch entries) {
    std::exception_ptr failed = co_await try_write(entries);
    if (failed && entries.size() > 1) {
        bool is_refused = false;
        try {
            std::rethrow_exception(failed);
        } catch (const pg_error& error) {
            is_refused = !error.is_connection_lost() && !error.is_fenced();
        } catch (const std::exception&) {
            is_refused = false;
        }
        if (is_refused) { // Because of one of them, perhaps.
            for (taken& each : entries) {
                batch alone;
                alone.push_back(std::move(each));
                co_await write_batch(std::move(alone));
            }
            co_return;
        }
    }
    if (!failed) {
        for (taken& each : entries) {
            settle(each);
        }
        co_return;
    }
    bool may_be_there = true;
    try {
        std::rethrow_exception(failed);
    } catch (const pg_error& error) {
        may_be_there = error.is_connection_lost();
        shared_.log.log(
            log_level::error, "entries of runs could not be stored", {{"reason", error.what()}}
        );
        if (error.is_fenced()) {
            gateway_.lose(gateway_.id());
        }
    } catch (const std::exception& error) {
        shared_.log.log(
            log_level::error, "entries of runs could not be stored", {{"reason", error.what()}}
        );
    }
    for (taken& each : entries) {
        fail(each, may_be_there);
    }
}

asio::awaitable<std::exception_ptr> pg_logs::try_write(const batch& entries) {
    const std::int64_t gateway = gateway_.id();
    try {
        if (gateway == 0) {
            throw pg_error("AG001", "the gateway has lost its leases", pg_error::effect::refused);
        }
        (void)co_await write_at_once(
            shared_, {.gateway = gateway, .relaxed = relaxed_},
            [this, &entries] {
                std::vector<std::int64_t> runs;
                std::vector<const pg_log_row*> rows;
                for (const taken& each : entries) {
                    runs.push_back(each.run);
                    rows.push_back(&each.row);
                }
                pg_batch statements;
                statements.push_back(insert_log_rows(rows));
                notify_(runs, statements);
                return statements;
            }
        );
    } catch (const std::exception&) {
        co_return std::current_exception();
    }
    co_return nullptr;
}

void pg_logs::settle(taken& entries) {
    const std::uint64_t durable = entries.row.last_sequence;
    give_back(std::move(entries), outcome::committed, durable);
}

void pg_logs::fail(taken& entries, bool may_be_there) {
    std::vector<waiting> lost = std::move(entries.observers);
    {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(entries.run);
        if (found != runs_.end()) {
            run_log& log = found->second;
            log.is_busy = false;
            std::ranges::move(log.observers, std::back_inserter(lost));
            log.observers.clear();
            log.pending = {};
            log.end = log.durable;
            log.has_failed = true;
            log.may_be_there = log.may_be_there || may_be_there;
        }
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    wake_waiters();
}

} // namespace agui::session
