// The deletion of journal rows that no run needs any more.
#include "session/postgres/pg_error.hpp"
#include "session/postgres/pg_logs.hpp"

#include <algorithm>

namespace agui::session {

namespace asio = boost::asio;

namespace {

constexpr const char* runs_in_journal =
    "SELECT number FROM agui.runs WHERE number = ANY($1) AND journal_writer = $2";
constexpr const char* active_runs_in_journal =
    "SELECT number FROM agui.runs WHERE status = 'active' AND journal_writer = $1";
constexpr const char* drop_journal_rows =
    "DELETE FROM agui.journal WHERE writer = $1 AND batch < $2 AND agui.timeline() = $3";

} // namespace

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

} // namespace agui::session
