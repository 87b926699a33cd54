#include "session/sqlite/run_jobs.hpp"

#include "session/base/failpoint.hpp"
#include "session/conversation/change_check.hpp"
#include "session/store/store_failures.hpp"

#include <map>
#include <stdexcept>
#include <utility>

namespace agui::session {

result<begun_run> run_jobs::begin(
    const thread_key& key, const run_record& run, const stored_change& what,
    std::optional<std::uint64_t> seen_version, const lease_ptr& held
) {
    const changes& change = what.change;
    if (held && !held->is_held()) {
        return lease_is_lost();
    }
    check_answered(run, change);
    const std::optional<thread_position> at = tables_.threads.find(key);
    if (seen_version && *seen_version != (at ? at->version : 0)) {
        return thread_has_changed();
    }
    std::int64_t thread = 0;
    if (!at) {
        thread = tables_.threads.create(key, run.agent_id, what, run.started_at);
    } else {
        thread = at->thread;
        if (tables_.runs.exists(thread, run)) {
            return run_id_taken();
        }
        tables_.threads.apply(*at, what, run.started_at);
    }
    if (change.run && !tables_.runs.update(thread, *change.run)) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    // Before the run's record, so that the run is the latest.
    if (const auto taken = take_queued(thread, change); !taken) {
        return taken.error();
    }
    const std::int64_t number = tables_.runs.add(thread, run);
    // Last, because rolling back to a savepoint does not undo it.
    tables_.log.open(number, 0);
    if (at) {
        tables_.cache.stage(thread, at->version, change);
    }
    const std::size_t messages = (at ? at->size.messages : 0) + change.messages.size();
    leases_.set_begun(held, number, static_cast<node_index>(messages));
    return begun_run{number};
}

result<void> run_jobs::take_queued(std::int64_t thread, const changes& change) {
    for (const std::int64_t queued : change.dequeued) {
        if (!tables_.queue.erase(thread, queued)) {
            return thread_has_changed();
        }
    }
    for (const run_record& answered : change.answered) {
        if (tables_.runs.exists(thread, answered)) {
            return run_id_taken();
        }
        (void)tables_.runs.add(thread, answered);
    }
    return {};
}

result<void> run_jobs::commit(
    const thread_key& key, const stored_change& what, const std::optional<log_slice>& log,
    const lease_ptr& held
) {
    const changes& change = what.change;
    if (held && !held->is_held()) {
        return lease_is_lost();
    }
    const std::optional<thread_position> at = tables_.threads.find(key);
    if (!at) {
        return no_such_thread();
    }
    check_answered(change);
    tables_.threads.apply(*at, what);
    if (const auto taken = take_queued(at->thread, change); !taken) {
        return taken.error();
    }
    const std::int64_t ended = ended_run(change);
    const bool has_entries = log && !log->ends.empty();
    // Before the run's record says so.
    const std::uint64_t end = has_entries  ? tables_.log.last_sequence_of(log->run_number)
                              : change.run ? tables_.log.last_sequence_of(change.run->number)
                                           : 0;
    if (change.run && !tables_.runs.update(at->thread, *change.run)) {
        throw std::logic_error("a run must begin on the thread before its record changes");
    }
    // The rest comes last, because rolling back to a savepoint does not undo it.
    if (has_entries && !tables_.log.write(log->run_number, end, &*log)) {
        return failure{errc::store_unavailable, "earlier entries of the run's log were lost"};
    }
    if (ended != 0) {
        if (!has_entries) {
            (void)tables_.log.write(ended, end);
        }
        tables_.log.close(ended);
    } else if (change.run) {
        tables_.log.open(change.run->number, end);
    }
    tables_.cache.stage(at->thread, at->version, change);
    return {};
}

std::optional<run_record> run_jobs::find(const thread_key& key, const std::string& run_id) {
    const auto at = tables_.threads.find(key);
    return at ? tables_.runs.find(at->thread, run_id) : std::nullopt;
}

result<std::vector<store::orphan>> run_jobs::orphans(const lease& held) {
    if (!held.is_held()) {
        return lease_is_lost();
    }
    std::vector<store::orphan> found;
    for (const sqlite_runs::active_run& each : tables_.runs.active(held.key())) {
        if (each.run.run_id != held.run_id()) {
            found.push_back({each.run, tables_.log.last_sequence_of(each.run.number)});
        }
    }
    return found;
}

std::vector<lease_ptr> run_jobs::claim_orphans(std::size_t limit) {
    std::vector<lease_ptr> claimed;
    for (const sqlite_runs::active_run& each : tables_.runs.active(std::nullopt)) {
        if (claimed.size() == limit) {
            break;
        }
        // A run that has ended meanwhile is no orphan: the lease holder sees that when it asks for
        // the thread's orphans.
        pass_failpoint("store.orphan_found");
        if (auto held = leases_.acquire(each.key, {})) {
            claimed.push_back(std::move(*held));
        }
    }
    return claimed;
}

} // namespace agui::session
