#include "session/sqlite/thread_jobs.hpp"

#include "session/base/failpoint.hpp"
#include "session/store/store_failures.hpp"

#include <utility>

namespace agui::session {

// Returns false if the thread that is read in slices was removed, and its rows may be half deleted.
// `removed` is the number of threads that had been removed at the last look-up.
bool thread_jobs::is_still_there(
    const thread_key& key, std::int64_t thread, std::uint64_t& removed
) {
    if (removed == tables_.removal.count()) {
        return true;
    }
    removed = tables_.removal.count();
    const auto at = tables_.threads.find(key);
    return at && at->thread == thread;
}

std::optional<result<store::view>> thread_jobs::read_slice(view_read& what) {
    if (!what.begun || !is_still_there(what.key, what.begun->thread, what.removed)) {
        what.begun.reset();
        what.removed = tables_.removal.count();
        what.seen = store::view();
        const auto at = tables_.threads.find(what.key);
        if (at && what.run_id) {
            what.seen.run = tables_.runs.find(at->thread, *what.run_id);
        }
        if (!at || what.seen.run) {
            return std::move(what.seen);
        }
        if (auto known = tables_.cache.find(at->thread, at->version)) {
            tables_.reader.refresh(*known, *at);
            what.seen.thread = std::move(*known);
            return std::move(what.seen);
        }
        what.begun = tables_.reader.begin_reading(what.key, *at);
        const message_cache::kept known = tables_.messages.find(what.key);
        if (known.messages && known.thread == at->thread) {
            what.begun->begin_with(*known.messages);
        }
    }
    pass_failpoint("store.read_slice");
    if (!tables_.reader.read_on(*what.begun)) {
        return std::nullopt;
    }
    tables_.cache.keep(what.begun->thread, what.begun->record);
    if (!what.begun->has_left_out()) {
        tables_.messages.keep(what.begun->thread, what.begun->record);
    }
    what.seen.thread = std::move(what.begun->record);
    return std::move(what.seen);
}

std::optional<result<std::optional<std::vector<pending_call>>>>
thread_jobs::read_slice(pending_calls_read& what) {
    using found_type = std::optional<std::vector<pending_call>>;
    if (!what.begun || !is_still_there(what.key, what.begun->thread, what.removed)) {
        what.begun.reset();
        what.removed = tables_.removal.count();
        const auto at = tables_.threads.find(what.key);
        if (!at) {
            return result<found_type>(found_type());
        }
        what.begun = tables_.reader.begin_pending_calls(*at);
    }
    pass_failpoint("store.read_slice");
    if (!tables_.reader.read_on(*what.begun)) {
        return std::nullopt;
    }
    return result<found_type>(std::move(what.begun->found));
}

bool thread_jobs::remove(const thread_key& key) {
    tables_.attachments.erase_of(key);
    const std::optional<thread_position> at = tables_.threads.find(key);
    if (!at) {
        return false;
    }
    tables_.access.erase_of(at->thread);
    tables_.removal.mark(at->thread);
    tables_.cache.forget(at->thread);
    tables_.messages.forget(key);
    for (const std::int64_t run_number : tables_.runs.of_thread(at->thread)) {
        tables_.log.close(run_number);
    }
    return true;
}

result<bool> thread_jobs::restore(const whole_thread& what, const stored_change& content) {
    if (tables_.threads.find(what.key)) {
        return false;
    }
    const std::string& shared_id = what.access.shared_id;
    if (!shared_id.empty() && tables_.access.is_taken(shared_id)) {
        return shared_id_taken();
    }
    const std::int64_t thread = tables_.threads.create(what.key, {}, content, what.last_run_at);
    tables_.threads.set_created(thread, what.created_at);
    for (run_record run : what.runs) {
        run.number = 0;
        tables_.runs.set_log_state(tables_.runs.add(thread, run), log_state::dropped);
    }
    if (!shared_id.empty()) {
        tables_.access.set(thread, what.access.entries, shared_id);
    }
    for (const attachment& each : what.attachments) {
        tables_.attachments.keep(what.key, each);
    }
    return true;
}

forgotten_principal thread_jobs::forget(const std::string& principal) {
    return {
        .rights = tables_.access.erase_rights_of(principal),
        .attachments = tables_.attachments.erase_of_principal(principal),
    };
}

} // namespace agui::session
