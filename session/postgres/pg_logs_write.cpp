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
// Limit of the known connections; beyond it, each is checked once more.
constexpr std::size_t known_connections_max = 256;

// A longer chain becomes a row of agui.log_rows.
constexpr std::size_t chain_bytes = 16U << 10U;
// Size of a chain's entries as a row, compared with the chain: JSON around each delta.
constexpr std::size_t expansion = 10;
// Old chains that a commit or the limit of a batch keeps from becoming rows are looked for again.
constexpr auto next_look_at_chains = 20ms;

constexpr const char* add_entries =
    "SELECT agui.add_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
constexpr const char* has_journal_row =
    "SELECT EXISTS (SELECT FROM agui.journal WHERE writer = $1 AND batch = $2)";
constexpr const char* runs_in_journal =
    "SELECT number FROM agui.runs WHERE number = ANY($1) AND journal_writer = $2";
constexpr const char* active_runs_in_journal =
    "SELECT number FROM agui.runs WHERE status = 'active' AND journal_writer = $1";
constexpr const char* drop_journal_rows =
    "DELETE FROM agui.journal WHERE writer = $1 AND batch < $2 AND agui.timeline() = $3";

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

// The ends for runs whose entries only the writer writes at the moment.
std::unordered_map<std::int64_t, std::uint64_t> pg_logs::ends_of_rows(const batch& entries) const {
    std::unordered_map<std::int64_t, std::uint64_t> ends;
    const std::lock_guard lock(mutex_);
    for (const auto& [run, log] : runs_) {
        if (!log.is_busy && !log.has_failed) {
            ends.emplace(run, log.chain.empty() ? log.durable : log.chain.first() - 1);
        }
    }
    for (const writing& each : entries) {
        const auto found = runs_.find(each.run);
        if (found != runs_.end() && !found->second.has_failed) {
            const std::uint64_t first =
                each.chain.empty() ? each.row.first_sequence : each.chain.first();
            ends.emplace(each.run, std::min(found->second.durable, first - 1));
        }
    }
    return ends;
}

// With durability::relaxed a crash of the server loses the last entries, and so does a standby that
// was behind. Later entries would leave a gap and make the whole log unreadable, so a log that lost
// rows ends there. Lost entries of the journal are written once more, because this process still
// has them. A run whose record is lost has ended for good, even if it has no entries yet.
asio::awaitable<void>
pg_logs::look_for_losses(std::string connection, std::int64_t gateway, batch& entries) {
    std::unordered_map<std::int64_t, std::uint64_t> durable = ends_of_rows(entries);
    std::vector<std::int64_t> runs;
    runs.reserve(durable.size());
    for (const auto& [run, sequence] : durable) {
        runs.push_back(run);
    }
    if (!runs.empty() || last_journal_row_ != 0) {
        const auto found = co_await read_at_once(shared_, [&] {
            pg_batch batch;
            batch.push_back(select_log_ends(runs));
            batch.emplace_back(has_journal_row, gateway, last_journal_row_);
            return batch;
        });
        for (std::size_t i = 0; i < found.at(0).size(); ++i) {
            const std::int64_t run = found[0].integer(i, 0);
            const auto end = static_cast<std::uint64_t>(found[0].integer(i, 1));
            if (end < durable.extract(run).mapped()) {
                lose_after(run, end);
            }
        }
        for (const auto& [run, end] : durable) {
            lose_after(run, 0);
        }
        if (last_journal_row_ != 0 && !found.at(1).boolean(0, 0)) {
            last_journal_row_ = 0;
            look_for_old_chains(clock::now());
            for (writing& each : entries) {
                if (!each.part.empty()) {
                    make_row(each);
                }
            }
        }
    }
    if (known_connections_.size() >= known_connections_max) {
        known_connections_.clear();
    }
    known_connections_.insert(std::move(connection));
}

// First row that a run still needs, also one whose lease is lost or released: its next owner reads
// it. The last row stays: its absence shows that the server lost data.
std::uint64_t pg_logs::oldest_part_needed() const {
    std::uint64_t oldest = last_journal_row_;
    const std::lock_guard lock(mutex_);
    for (const auto& [run, log] : runs_) {
        if (log.oldest_part != 0) {
            oldest = std::min(oldest, log.oldest_part);
        }
    }
    return oldest;
}

std::vector<std::int64_t> pg_logs::journaled_without_lease() const {
    std::vector<std::int64_t> runs;
    const std::lock_guard lock(mutex_);
    for (const auto& [run, log] : runs_) {
        if (log.oldest_part != 0 && !log.is_busy && log.held && !log.held->is_held()) {
            runs.push_back(run);
        }
    }
    return runs;
}

// Other processes have taken them over, or will.
asio::awaitable<void> pg_logs::leave_runs_of_others() {
    std::vector<std::int64_t> runs = journaled_without_lease();
    if (runs.empty()) {
        co_return;
    }
    const auto found = co_await read_at_once(shared_, [&] {
        pg_batch batch;
        batch.emplace_back(runs_in_journal, runs, writer_);
        return batch;
    });
    std::set<std::int64_t> in_journal;
    for (std::size_t i = 0; i < found.at(0).size(); ++i) {
        in_journal.insert(found[0].integer(i, 0));
    }
    std::erase_if(runs, [&](std::int64_t run) { return in_journal.contains(run); });
    leave_journal(runs);
}

// A standby that was behind has runs as active that this process has ended. Until a process ends
// them again, they need their rows.
asio::awaitable<bool> pg_logs::knows_runs_of_journal() {
    const auto found = co_await read_at_once(shared_, [&] {
        pg_batch batch;
        batch.emplace_back(active_runs_in_journal, writer_);
        return batch;
    });
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < found.at(0).size(); ++i) {
        if (!runs_.contains(found[0].integer(i, 0))) {
            co_return false;
        }
    }
    co_return true;
}

asio::awaitable<void> pg_logs::clean_journal() {
    try {
        co_await leave_runs_of_others();
        const std::uint64_t oldest = oldest_part_needed();
        if (oldest <= cleaned_before_ || writer_ != gateway_.id()) {
            co_return;
        }
        const std::int64_t timeline = gateway_.timeline();
        if (cleaned_at_ != timeline) {
            if (!co_await knows_runs_of_journal()) {
                co_return;
            }
            cleaned_at_ = timeline;
        }
        // A crash of the server may bring them back.
        const auto dropped = co_await write_at_once(shared_, {.relaxed = true}, [&] {
            pg_batch batch;
            batch.emplace_back(drop_journal_rows, writer_, oldest, timeline);
            return batch;
        });
        if (dropped.at(0).changed() > 0) { // Otherwise the server may be another one by now.
            cleaned_before_ = oldest;
        }
    } catch (const pg_error&) { // Retried at the next sweep.
    } catch (const pg_unavailable&) {
    }
}

void pg_logs::lose_after(std::int64_t run, std::uint64_t end) {
    shared_.log.log(
        log_level::error, "the database has lost stored entries of a run's log",
        {{"run", std::to_string(run)}, {"end", std::to_string(end)}}
    );
    std::vector<waiting> lost;
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = runs_.find(run); found != runs_.end()) {
            run_log& log = found->second;
            lost = std::exchange(log.observers, {});
            log.pending = {};
            log.chain = {};
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
