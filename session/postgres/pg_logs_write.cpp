// The way of entries from memory to the table.
#include "session/base/as_result.hpp"
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_logs.hpp"

#include <algorithm>
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
// Limit of one transaction; the entries of one run are never divided.
constexpr std::size_t batch_bytes_max = 4U << 20U;

// A longer chain becomes a row of agui.log_rows.
constexpr std::size_t chain_bytes = 16U << 10U;
// Size of a chain's entries as a row, compared with the chain: JSON around each delta.
constexpr std::size_t expansion = 10;
// Old chains that a commit or the limit of a batch keeps from becoming rows are looked for again.
constexpr auto next_look_at_chains = 20ms;

constexpr const char* add_entries =
    "SELECT agui.add_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
struct batch_failure {
    std::string text;
    bool may_be_there = true; // It may have been written nevertheless.
    bool may_be_of_one_row = false;
    bool is_fenced = false;
};

// True for errors about values, constraints (including a row without a partition), sizes and
// damaged pages. Any other error of a batch would recur for each of its rows.
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

// While it writes or pauses, it needs no wake-up: it looks for more by itself.
asio::awaitable<void> pg_logs::write() {
    for (;;) {
        const auto begun = clock::now();
        const bool sweeps = begun >= next_sweep_;
        if (sweeps) {
            next_sweep_ = begun + settings_.between_sweeps;
            look_for_old_chains(begun - settings_.longest_in_journal);
        }
        // The number of the leases that collect() checks: it may have changed by the time of the
        // write.
        const std::int64_t gateway = gateway_.id();
        batch next = collect(begun);
        const bool writes = !next.empty();
        if (writes) {
            co_await write_batch(std::move(next), gateway);
        }
        if (sweeps) {
            co_await clean_journal();
        }
        if (writes) {
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
            writer_timer_.expires_at(next_wake(begun));
        }
        co_await writer_timer_.async_wait(as_result);
    }
}

pg_logs::clock::time_point pg_logs::next_wake(clock::time_point now) {
    auto next = last_journal_row_ >= cleaned_before_ ? next_sweep_ : clock::time_point::max();
    if (has_old_chains_) {
        next = std::min(next, now + next_look_at_chains);
    }
    return waiting_.empty() ? next : std::min(next, next_batch_);
}

pg_logs::batch pg_logs::collect(clock::time_point now) {
    batch next;
    std::vector<waiting> lost;
    {
        std::size_t bytes = 0;
        std::size_t count = 0;
        const std::lock_guard lock(mutex_);
        make_waiting_due(now);
        if (waiting_.empty() && !due_.empty()) {
            next_batch_ = now + settings_.batch; // Only the first after a pause is written at once.
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
            if (log.held && !log.held->is_held()) {
                // Others may copy the journal's entries to rows, and would not see later ones.
                std::ranges::move(log.observers, std::back_inserter(lost));
                log.observers.clear();
                log.pending = {};
                log.end = log.durable;
                log.has_failed = true;
                continue;
            }
            take_for_batch(next, found->first, log);
            log.last_write = now;
            bytes += next.back().bytes_to_write();
        }
        due_.erase(due_.begin(), due_.begin() + static_cast<std::ptrdiff_t>(count));
        take_old_chains(next, bytes);
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    for (writing& each : next) {
        prepare(each);
    }
    return next;
}

void pg_logs::take_for_batch(batch& to, std::int64_t run, run_log& log) {
    log.is_busy = true;
    writing& entries = to.emplace_back();
    entries.run = run;
    entries.is_known = true;
    entries.is_journaled = log.is_journaled;
    entries.is_first = log.durable == 0;
    entries.end = log.end;
    entries.row = std::exchange(log.pending, {});
    entries.chain = std::exchange(log.chain, {});
    entries.stored = log.stored;
    entries.observers = std::exchange(log.observers, {});
}

bool pg_logs::writing::has_room() const noexcept {
    return is_journaled && !becomes_row && chain.bytes() + row.bytes() <= chain_bytes;
}

std::size_t pg_logs::writing::bytes_to_write() const noexcept {
    return row.bytes() + (has_room() ? 0 : expansion * chain.bytes());
}

void pg_logs::look_for_old_chains(clock::time_point begun_before) {
    chains_old_at_ = std::max(chains_old_at_, begun_before);
    has_old_chains_ = true;
}

// A silent run must not keep the journal's rows for long, because the process that takes it over,
// and each reader of its log, reads all rows from there on.
void pg_logs::take_old_chains(batch& to, std::size_t bytes) {
    if (!std::exchange(has_old_chains_, false)) {
        return;
    }
    const auto is_old = [this](const run_log& log) {
        const bool is_lost = log.has_failed || (log.held && !log.held->is_held());
        return log.oldest_part != 0 && log.chain_begun <= chains_old_at_ && !is_lost;
    };
    for (writing& each : to) {
        each.becomes_row = is_old(runs_.at(each.run));
    }
    for (auto& [run, log] : runs_) {
        if (!is_old(log)) {
            continue;
        }
        if (log.is_busy || bytes >= batch_bytes_max) {
            has_old_chains_ = true;
        } else if (!log.chain.empty()) {
            take_for_batch(to, run, log);
            to.back().becomes_row = true;
            bytes += to.back().bytes_to_write();
        }
    }
}

// Needs no mutex: while the log is busy, the chain belongs to the writer.
void pg_logs::prepare(writing& entries) {
    if (entries.has_room()) {
        entries.before = entries.chain.position();
        entries.part = entries.chain.append(entries.row);
    } else {
        make_row(entries);
    }
}

void pg_logs::make_row(writing& entries) {
    if (entries.before) {
        entries.chain.roll_back(*entries.before);
        entries.part.clear();
    }
    entries.becomes_row = true;
    if (!entries.chain.empty()) {
        pg_log_row all = entries.chain.as_row(entries.run);
        if (!entries.row.empty()) {
            all.append(entries.row);
        }
        entries.row = std::move(all);
    }
    entries.stored.add(entries.row);
}

asio::awaitable<void> pg_logs::write_batch(batch entries, std::int64_t gateway) {
    const std::exception_ptr failed = co_await try_write(entries, gateway);
    if (!failed) {
        for (writing& each : entries) {
            settle(each);
        }
        co_return;
    }
    const batch_failure why = reason_of(failed);
    if (why.may_be_of_one_row && entries.size() > 1) {
        for (writing& each : entries) {
            batch alone;
            alone.push_back(std::move(each));
            co_await write_batch(std::move(alone), gateway);
        }
        co_return;
    }
    shared_.log.log(
        log_level::error, "entries of run logs could not be stored", {{"reason", why.text}}
    );
    if (why.is_fenced) {
        gateway_.lose(gateway); // By now it may have another number, which is not fenced.
    }
    for (writing& each : entries) {
        fail(each, why.may_be_there);
    }
}

// Returns null if the remaining entries are written.
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
            co_await look_for_losses(std::move(unknown), gateway, entries);
            drop_failed(entries);
        }
    } catch (const std::exception&) {
        co_return std::current_exception();
    }
    co_return nullptr;
}

// Returns an empty text if they are written. Otherwise returns the name of an unknown connection,
// on which nothing was written.
asio::awaitable<std::string> pg_logs::write_rows(const batch& entries, std::int64_t gateway) {
    if (std::exchange(writer_, gateway) != gateway) {
        last_journal_row_ = 0;
        cleaned_before_ = next_journal_row_;
    }
    // All tries use it, so that the row is written once.
    const std::uint64_t journal_row = next_journal_row_++;
    note_parts(entries, journal_row);
    const auto results = co_await write_at_once(shared_, {.relaxed = settings_.relaxed}, [&] {
        std::vector<std::int64_t> begun;
        std::vector<std::int64_t> runs_with_parts;
        std::vector<std::string_view> parts;
        std::vector<const pg_log_row*> rows;
        for (const writing& each : entries) {
            if (each.is_first) {
                begun.push_back(each.run);
            }
            if (each.part.empty()) {
                rows.push_back(&each.row);
            } else {
                runs_with_parts.push_back(each.run);
                parts.emplace_back(each.part);
            }
        }
        pg_statement call(
            add_entries, gateway, texts_of(known_connections_), journal_row, runs_with_parts, parts,
            begun
        );
        add_rows(call.params, rows);
        pg_batch statements;
        statements.push_back(std::move(call));
        return statements;
    });
    std::string connection(results.at(0).text(0, 0));
    if (!known_connections_.contains(connection)) {
        co_return connection;
    }
    if (std::ranges::any_of(entries, [](const writing& each) { return !each.part.empty(); })) {
        last_journal_row_ = journal_row;
    }
    co_return std::string();
}

// Called before the write, whose outcome may stay unknown.
void pg_logs::note_parts(const batch& entries, std::uint64_t journal_row) {
    const std::lock_guard lock(mutex_);
    for (const writing& each : entries) {
        const auto found = runs_.find(each.run);
        if (!each.part.empty() && found != runs_.end() && found->second.oldest_part == 0) {
            found->second.oldest_part = journal_row;
            found->second.chain_begun = clock::now();
        }
    }
}

void pg_logs::drop_failed(batch& entries) {
    std::erase_if(entries, [this](writing& each) {
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

void pg_logs::settle(writing& entries) {
    const std::uint64_t durable = entries.row.last_sequence;
    if (entries.part.empty()) {
        entries.chain = {};
    }
    give_back(std::move(entries), outcome::committed, durable);
}

void pg_logs::fail(writing& entries, bool may_be_there) {
    if (!entries.part.empty()) {
        entries.chain.roll_back(*entries.before);
    }
    fail(static_cast<taken&>(entries), may_be_there);
}

void pg_logs::fail(taken& entries, bool may_be_there) {
    std::vector<waiting> lost = std::move(entries.observers);
    {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(entries.run);
        if (found != runs_.end()) {
            run_log& log = found->second;
            log.is_busy = false;
            log.may_be_there = log.may_be_there || may_be_there;
            log.chain = log.may_be_there ? pg_chain() : std::move(entries.chain);
            std::ranges::move(log.observers, std::back_inserter(lost));
            log.observers.clear();
            log.pending = {};
            log.end = log.durable;
            log.has_failed = true;
        }
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    wake_waiters();
}

} // namespace agui::session
