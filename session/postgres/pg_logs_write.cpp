// How entries get from memory to the table.
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_logs.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

using namespace std::chrono_literals;

// Entries of many runs gather for a transaction: with a fast disk there would be one for each token
// otherwise. A reader does not notice it.
constexpr auto between_batches = 2ms;
// Of one transaction; a run that has said more is written whole.
constexpr std::size_t batch_bytes_max = 4U << 20U;
// Names of connections; when there are more, each is looked at once more.
constexpr std::size_t known_connections_max = 256;

struct batch_failure {
    std::string text;
    bool may_be_there = true; // It may have been written nevertheless.
    bool may_be_of_one_row = false;
    bool is_fenced = false;
};

// Of values, constraints (also: no partition takes the row), sizes, and damaged pages. Whatever
// else refuses a batch would refuse each of its rows, one after the other.
bool is_of_a_row(const pg_error& error) {
    const std::string_view class_of = std::string_view(error.sqlstate()).substr(0, 2);
    return !error.is_connection_lost() &&
           (class_of == "22" || class_of == "23" || class_of == "54" || class_of == "XX");
}

batch_failure reason_of(const std::exception_ptr& failed) {
    batch_failure why;
    try {
        std::rethrow_exception(failed);
    } catch (const pg_error& error) {
        why.text = error.what();
        why.may_be_of_one_row = is_of_a_row(error);
        // The last try says nothing about one before it whose answer was lost.
        why.may_be_there = !why.may_be_of_one_row;
        why.is_fenced = error.is_fenced();
    } catch (const std::exception& error) {
        why.text = error.what();
    }
    return why;
}

} // namespace

// While it writes or pauses, nobody wakes it: it looks for more by itself.
asio::awaitable<void> pg_logs::write() {
    for (;;) {
        const auto begun = clock::now();
        batch next = collect(begun);
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
            writer_knows_ = waiting_.empty() ? urgency::none : urgency::may_wait;
            writer_timer_.expires_at(waiting_.empty() ? clock::time_point::max() : next_batch_);
        }
        co_await writer_timer_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

pg_logs::batch pg_logs::collect(clock::time_point now) {
    batch next;
    std::size_t bytes = 0;
    std::size_t count = 0;
    const std::lock_guard lock(mutex_);
    make_waiting_due(now);
    if (waiting_.empty() && !due_.empty()) {
        next_batch_ = now + settings_.batch; // Not the first after a pause.
    }
    writer_knows_ = urgency::at_once;
    for (; count < due_.size() && bytes < batch_bytes_max; ++count) {
        const auto found = runs_.find(due_[count]);
        if (found == runs_.end()) {
            continue;
        }
        run_log& log = found->second;
        log.in = list::none;
        if (log.is_busy || log.pending.empty()) {
            continue; // give_back() makes it due again.
        }
        log.is_busy = true;
        log.last_write = now;
        taken& entries = next.emplace_back();
        entries.run = found->first;
        entries.is_known = true;
        entries.end = log.end;
        entries.row = std::exchange(log.pending, {});
        entries.stored = log.stored;
        entries.stored.add(entries.row);
        entries.observers = std::exchange(log.observers, {});
        bytes += entries.row.bytes();
    }
    due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(count));
    return next;
}

asio::awaitable<void> pg_logs::write_batch(batch entries) {
    const std::int64_t gateway = gateway_.id();
    const std::exception_ptr failed = co_await try_write(entries, gateway);
    if (!failed) {
        for (taken& each : entries) {
            settle(each);
        }
        co_return;
    }
    const batch_failure why = reason_of(failed);
    if (why.may_be_of_one_row && entries.size() > 1) {
        for (taken& each : entries) {
            batch alone;
            alone.push_back(std::move(each));
            co_await write_batch(std::move(alone));
        }
        co_return;
    }
    shared_.log.log(
        log_level::error, "entries of runs could not be stored", {{"reason", why.text}}
    );
    if (why.is_fenced) {
        gateway_.lose(gateway); // By now it may have another, which others have not fenced.
    }
    for (taken& each : entries) {
        fail(each, why.may_be_there);
    }
}

// Null: what is left of the entries is written.
asio::awaitable<std::exception_ptr> pg_logs::try_write(batch& entries, std::int64_t gateway) {
    try {
        if (gateway == 0) {
            throw pg_error("AG001", "the gateway has lost its leases", pg_error::effect::refused);
        }
        while (!entries.empty()) {
            std::string unknown = co_await write_rows(entries, gateway);
            if (unknown.empty()) {
                break;
            }
            co_await look_for_losses(std::move(unknown));
            drop_failed(entries);
        }
    } catch (const std::exception&) {
        co_return std::current_exception();
    }
    co_return nullptr;
}

// Empty: they are written. Otherwise nothing is, because of the connection of that name.
asio::awaitable<std::string> pg_logs::write_rows(const batch& entries, std::int64_t gateway) {
    const auto results = co_await write_at_once(
        shared_, {.gateway = gateway, .relaxed = settings_.relaxed},
        [this, &entries] {
            std::vector<std::int64_t> runs;
            std::vector<const pg_log_row*> rows;
            for (const taken& each : entries) {
                runs.push_back(each.run);
                rows.push_back(&each.row);
            }
            pg_batch statements;
            statements.push_back(insert_log_rows(rows, known_connections_));
            if (auto note = note_log_begins(rows, &known_connections_)) {
                statements.push_back(std::move(*note));
            }
            notify_(runs, statements);
            return statements;
        }
    );
    std::string connection(results.at(0).text(0, 0));
    co_return known_connections_.contains(connection) ? std::string() : connection;
}

// With durability::relaxed a crash of the server takes the last entries with it, and so does a
// standby that was behind. What would follow them would leave a gap, and make the whole log
// unreadable: such a log ends with what is there.
asio::awaitable<void> pg_logs::look_for_losses(std::string connection) {
    std::unordered_map<std::int64_t, std::uint64_t> durable;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [run, log] : runs_) {
            if (log.durable != 0 && !log.has_failed) {
                durable.emplace(run, log.durable);
            }
        }
    }
    if (!durable.empty()) {
        std::vector<std::int64_t> runs;
        runs.reserve(durable.size());
        for (const auto& [run, sequence] : durable) {
            runs.push_back(run);
        }
        const auto ends =
            co_await read_at_once(shared_, [&runs] { return pg_batch{select_log_ends(runs)}; });
        for (std::size_t i = 0; i < ends.at(0).size(); ++i) {
            const std::int64_t run = ends[0].integer(i, 0);
            const auto end = static_cast<std::uint64_t>(ends[0].integer(i, 1));
            if (end < durable.at(run)) {
                lose_after(run, end);
            }
        }
    }
    if (known_connections_.size() >= known_connections_max) {
        known_connections_.clear();
    }
    known_connections_.insert(std::move(connection));
}

void pg_logs::lose_after(std::int64_t run, std::uint64_t end) {
    shared_.log.log(
        log_level::error, "the server has lost entries of a run that it had stored",
        {{"run", std::to_string(run)}, {"end", std::to_string(end)}}
    );
    std::vector<waiting> lost;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = runs_.find(run); found != runs_.end()) {
            run_log& log = found->second;
            lost = std::exchange(log.observers, {});
            log.pending = {};
            log.end = log.durable = end;
            log.has_failed = log.may_be_there = true;
        }
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    wake_waiters();
}

void pg_logs::drop_failed(batch& entries) {
    std::erase_if(entries, [this](taken& each) {
        bool has_failed = false;
        {
            const std::lock_guard lock(mutex_);
            const auto found = runs_.find(each.run);
            has_failed = found != runs_.end() && found->second.has_failed;
        }
        if (has_failed) {
            fail(each, true);
        }
        return has_failed;
    });
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
