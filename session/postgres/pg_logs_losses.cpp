// The search for entries that the server has lost after it acknowledged them.
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_logs.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// Limit of the known connections; beyond it, each is checked once more.
constexpr std::size_t known_connections_max = 256;

constexpr const char* has_journal_row =
    "SELECT EXISTS (SELECT FROM agui.journal WHERE writer = $1 AND batch = $2)";

} // namespace

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

} // namespace agui::session
