#include "session/postgres/pg_logs.hpp"

#include "session/base/as_result.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace agui::session {

namespace asio = boost::asio;

namespace {

// After a silence of this many batches, an entry counts as the first token of an answer. With fewer
// batches, the tokens of a slow model would never wait, and each would be a transaction of its own.
constexpr int silent_batches = 10;

void add_observer(
    std::vector<pg_logs::waiting>& to, std::uint64_t sequence,
    const std::shared_ptr<log_observer>& observer
) {
    if (!observer) {
        return;
    }
    if (!to.empty() && to.back().observer == observer) {
        to.back().sequence = sequence;
    } else {
        to.push_back({sequence, observer});
    }
}

} // namespace

pg_logs::pg_logs(pg_shared& shared, pg_gateway& gateway, settings given)
    : shared_(shared), gateway_(gateway), settings_(given), writer_timer_(shared.context) {}

void pg_logs::append(
    const log_slice& slice, const std::shared_ptr<log_observer>& observer, const lease_ptr& held
) {
    if (slice.ends.empty()) {
        return;
    }
    bool is_accepted = false;
    if (!held || held->is_held()) {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(slice.run_number);
        if (found != runs_.end() && !is_finished_) {
            run_log& log = found->second;
            if (log.has_failed && !log.may_be_there && slice.first_sequence == log.durable + 1) {
                log.has_failed = false; // It continues where nothing is missing.
            }
            if (!log.has_failed && slice.first_sequence == log.end + 1) {
                log.may_wait = slice.may_wait && (log.may_wait || log.pending.empty());
                if (log.pending.empty()) {
                    log.pending.run = slice.run_number;
                    log.pending.first_sequence = slice.first_sequence;
                }
                log.pending.append(slice);
                log.end = log.pending.last_sequence;
                add_observer(log.observers, log.end, observer);
                make_due(slice.run_number, log);
                is_accepted = true;
            }
        }
    }
    if (!is_accepted && observer) {
        observer->on_failed();
    }
}

bool pg_logs::is_silent(const run_log& log) const {
    return !log.last_write || clock::now() - *log.last_write >= silent_batches * settings_.batch;
}

void pg_logs::make_due(std::int64_t run, run_log& log) {
    const bool waits = log.may_wait && settings_.batch.count() > 0 && !is_silent(log);
    const list wanted = waits ? list::waiting : list::due;
    if (log.is_busy || log.in >= wanted) {
        return;
    }
    log.in = wanted;
    (waits ? waiting_ : due_).push_back(run);
    wake_writer(waits ? urgency::may_wait : urgency::at_once);
}

void pg_logs::wake_writer(urgency how) {
    if (writer_knows_ < how) {
        writer_knows_ = how;
        asio::post(shared_.context, [this] { writer_timer_.cancel(); });
    }
}

// A run that has become due before its time is in both lists.
void pg_logs::make_waiting_due(clock::time_point now) {
    if (waiting_.empty() || (now < next_batch_ && !is_finished_)) {
        return;
    }
    for (const std::int64_t run : waiting_) {
        const auto found = runs_.find(run);
        if (found != runs_.end() && found->second.in == list::waiting) {
            found->second.in = list::due;
            due_.push_back(run);
        }
    }
    waiting_.clear();
    next_batch_ = now + settings_.batch;
}

void pg_logs::hurry(std::int64_t run) {
    if (const auto found = runs_.find(run); found != runs_.end()) {
        found->second.may_wait = false;
        if (!found->second.pending.empty()) {
            make_due(run, found->second);
        }
    }
}

void pg_logs::open(std::int64_t run, std::uint64_t end, const lease_ptr& held, keeping how) {
    const std::lock_guard lock(mutex_);
    if (runs_.size() >= forget_at_) {
        forget_lost();
        forget_at_ = std::max(forget_at_, 2 * runs_.size());
    }
    const auto [place, is_new] = runs_.try_emplace(run);
    run_log& log = place->second;
    log.held = held;
    log.is_journaled = how == keeping::in_journal;
    log.stored.is_known = is_new && end == 0;
    if (is_new || log.has_failed) {
        log.end = log.durable = end;
        log.has_failed = log.may_be_there = false;
    }
}

// Drops the runs that other processes have ended: no call closes them.
void pg_logs::forget_lost() {
    std::erase_if(runs_, [](const auto& one) {
        const run_log& log = one.second;
        return log.held && !log.held->is_held() && !log.is_busy && log.pending.empty() &&
               log.oldest_part == 0;
    });
}

std::size_t pg_logs::size() const {
    const std::lock_guard lock(mutex_);
    return runs_.size();
}

void pg_logs::close(std::int64_t run) {
    std::vector<waiting> lost;
    {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(run);
        if (found != runs_.end()) {
            lost.swap(found->second.observers);
            runs_.erase(found);
        }
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    wake_waiters();
}

void pg_logs::lose_all() {
    std::vector<waiting> lost;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [run, log] : runs_) {
            std::ranges::move(log.observers, std::back_inserter(lost));
            log.observers.clear();
            log.pending = {};
            log.end = log.durable;
            log.has_failed = true;
            log.may_be_there = log.is_busy;
            // Only drop_logs() deletes journal rows of a lost number.
            log.chain = {};
            log.oldest_part = 0;
        }
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    wake_waiters();
}

asio::awaitable<pg_logs::taken> pg_logs::take(std::int64_t run, std::uint64_t last) {
    taken got;
    got.run = run;
    for (;;) {
        {
            const std::lock_guard lock(mutex_);
            const auto found = runs_.find(run);
            if (found == runs_.end()) {
                co_return got;
            }
            run_log& log = found->second;
            if (!log.is_busy) {
                log.is_busy = true;
                got.is_known = true;
                got.has_failed = log.has_failed;
                got.is_journaled = log.is_journaled;
                got.end = log.end;
                got.row = std::exchange(log.pending, {});
                got.chain = std::exchange(log.chain, {});
                got.stored = log.stored;
                got.observers = std::exchange(log.observers, {});
                log.last_write.reset();
                log.end = std::max(log.end, last);
                co_return got;
            }
        }
        co_await wait_for_change();
    }
}

void pg_logs::give_back(taken entries, outcome of_commit, std::uint64_t durable) {
    if (!entries.is_known) {
        return;
    }
    if (of_commit == outcome::unknown) {
        fail(entries, true);
        return;
    }
    const bool is_committed = of_commit == outcome::committed;
    std::vector<waiting> lost;
    {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(entries.run);
        if (found != runs_.end()) {
            run_log& log = found->second;
            log.is_busy = false;
            log.chain = std::move(entries.chain);
            if (log.has_failed && log.may_be_there) {
                log.chain = {}; // The run was lost meanwhile.
            }
            if (is_committed) {
                note_durable(log, entries, durable);
            } else if (!log.has_failed) {
                lost = put_back(log, entries);
            }
            if (!log.pending.empty()) {
                make_due(entries.run, log);
            }
        }
    }
    for (const waiting& each : lost) {
        each.observer->on_failed();
    }
    for (const waiting& each : entries.observers) {
        if (is_committed) {
            each.observer->on_durable(each.sequence);
        } else {
            each.observer->on_failed();
        }
    }
    wake_waiters();
}

void pg_logs::note_durable(run_log& log, const taken& entries, std::uint64_t durable) {
    log.durable = std::max(log.durable, durable);
    log.end = std::max(log.end, durable);
    log.stored = entries.stored;
    log.oldest_part = log.chain.empty() ? 0 : log.oldest_part;
    if (entries.has_failed && durable != 0) {
        // The commit has found the end of the log, and continued there.
        log.durable = log.end = durable;
        log.has_failed = log.may_be_there = false;
        log.is_journaled = log.stored.is_known = false;
    }
}

// Returns the observers of the lost entries.
std::vector<pg_logs::waiting> pg_logs::put_back(run_log& log, taken& entries) {
    std::vector<waiting> lost;
    // Entries that came meanwhile follow ones that are missing, unless there were none.
    if (!log.pending.empty() && log.pending.first_sequence != entries.end + 1) {
        lost = std::exchange(log.observers, {});
        log.pending = {};
    }
    log.may_wait = false;
    if (!log.pending.empty() && !entries.row.empty()) {
        entries.row.append(log.pending);
        log.pending = std::move(entries.row);
    } else if (log.pending.empty()) {
        log.pending = std::move(entries.row);
        log.end = entries.end;
    }
    std::ranges::move(log.observers, std::back_inserter(entries.observers));
    log.observers = std::exchange(entries.observers, {});
    return lost;
}

asio::awaitable<void> pg_logs::flush(std::int64_t run) {
    std::unordered_map<std::int64_t, std::uint64_t> wanted;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [number, log] : runs_) {
            if ((run == 0 || number == run) && log.durable < log.end) {
                wanted.emplace(number, log.end);
            }
        }
        for (const auto& [number, end] : wanted) {
            hurry(number);
        }
    }
    while (!wanted.empty()) {
        {
            const std::lock_guard lock(mutex_);
            std::erase_if(wanted, [this](const auto& each) AGUI_REQUIRES(mutex_) {
                const auto found = runs_.find(each.first);
                return found == runs_.end() || found->second.has_failed ||
                       found->second.durable >= each.second || found->second.end < each.second;
            });
        }
        if (!wanted.empty()) {
            co_await wait_for_change();
        }
    }
}

void pg_logs::leave_journal(const std::vector<std::int64_t>& runs) {
    const std::lock_guard lock(mutex_);
    for (const std::int64_t run : runs) {
        if (const auto found = runs_.find(run); found != runs_.end()) {
            run_log& log = found->second;
            log.chain = {};
            log.oldest_part = 0;
            log.is_journaled = log.stored.is_known = false;
        }
    }
}

asio::awaitable<std::vector<std::int64_t>> pg_logs::wait_for_writers(std::vector<std::int64_t> runs
) {
    const auto is_busy = [this](std::int64_t run) {
        const std::lock_guard lock(mutex_);
        const auto found = runs_.find(run);
        return found != runs_.end() && found->second.is_busy;
    };
    while (std::ranges::any_of(runs, is_busy)) {
        co_await wait_for_change();
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(runs, [this](std::int64_t run) AGUI_REQUIRES(mutex_) {
        const auto found = runs_.find(run);
        return found == runs_.end() || found->second.oldest_part == 0;
    });
    co_return runs;
}

asio::awaitable<void> pg_logs::wait_for_change() {
    asio::steady_timer timer(shared_.context, asio::steady_timer::time_point::max());
    const auto place = waiters_.insert(waiters_.end(), &timer);
    co_await timer.async_wait(as_result);
    waiters_.erase(place);
}

void pg_logs::wake_waiters() {
    for (asio::steady_timer* const each : waiters_) {
        each->cancel();
    }
}

void pg_logs::finish() {
    const std::lock_guard lock(mutex_);
    is_finished_ = true;
    wake_writer(urgency::at_once);
}

} // namespace agui::session
