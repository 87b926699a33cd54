#include "session/store/memory_thread.hpp"

#include "session/base/contains.hpp"

#include <algorithm>
#include <stdexcept>

namespace agui::session {

namespace {

// A run keeps its ids and its protocol, and its input digest unless another is given.
run_record updated_run(const run_record& known, const run_record& given) {
    run_record run = given;
    run.run_id = known.run_id;
    run.idempotency_key = known.idempotency_key;
    run.protocol = known.protocol;
    run.answered_by = known.answered_by;
    if (run.input_digest.empty()) {
        run.input_digest = known.input_digest;
    }
    return run;
}

template <class Record>
bool same_run(const Record& known, std::string_view run_id, std::string_view key) {
    return known.run_id == run_id || (!key.empty() && known.idempotency_key == key);
}

} // namespace

bool memory_thread::has_any(const std::vector<run_record>& given) const {
    return std::ranges::any_of(given, [&](const run_record& each) AGUI_REQUIRES(mutex) {
        return std::ranges::any_of(runs, [&](const run_record& known) {
            return same_run(known, each.run_id, each.idempotency_key);
        });
    });
}

bool memory_thread::has_any_request(std::string_view run_id, std::string_view key) const {
    const auto is_same = [&](const auto& known) {
        return same_run(known, run_id, key);
    };
    return std::ranges::any_of(runs, is_same) || std::ranges::any_of(queue, is_same);
}

bool memory_thread::are_queued(const std::vector<std::int64_t>& numbers) const {
    return std::ranges::all_of(numbers, [&](std::int64_t each) AGUI_REQUIRES(mutex) {
        return std::ranges::find(queue, each, &queued_request::number) != queue.end();
    });
}

std::optional<access_right> memory_thread::right_of(std::string_view principal) const {
    const auto entry = std::ranges::find(access.entries, principal, &access_entry::principal);
    return entry == access.entries.end() ? std::nullopt : std::optional(entry->right);
}

void memory_thread::store(const changes& change, std::atomic<std::int64_t>& run_count) {
    auto run = runs.end();
    if (change.run) {
        run = std::ranges::find(runs, change.run->number, &run_record::number);
        if (run == runs.end()) {
            throw std::logic_error("a run must begin on the thread before its record changes");
        }
    }
    apply(thread, change);
    for (const session_event& event : change.events) {
        events.push_back(event);
        events.back().sequence = events.size();
    }
    if (change.run) {
        *run = updated_run(*run, *change.run);
    }
    std::erase_if(queue, [&](const queued_request& each) {
        return contains(change.dequeued, each.number);
    });
    for (const run_record& answered : change.answered) {
        runs.push_back(answered);
        runs.back().number = ++run_count;
    }
}

std::vector<pending_call>
with_claims(std::vector<pending_call> calls, const std::map<std::string, call_claim>& claims) {
    for (pending_call& each : calls) {
        if (const auto claim = claims.find(each.call.id); claim != claims.end()) {
            each.claimed_until = claim->second.until;
        }
    }
    return calls;
}

} // namespace agui::session
