#include "session/sqlite/queue_jobs.hpp"

#include "session/store/store_failures.hpp"

#include <utility>

namespace agui::session {

result<std::int64_t>
queue_jobs::enqueue(const thread_key& key, const stored_request& next, const queue_limits& limits) {
    const auto at = tables_.threads.find(key);
    if (!at) {
        return no_such_thread();
    }
    run_record as_run;
    as_run.run_id = next.request.run_id;
    as_run.idempotency_key = next.request.idempotency_key;
    if (tables_.runs.exists(at->thread, as_run) || tables_.queue.exists(at->thread, next.request)) {
        return run_id_taken();
    }
    const sqlite_queue::size before = tables_.queue.size_of(at->thread);
    if (before.requests >= limits.requests || before.bytes + next.bytes > limits.bytes) {
        return queue_is_full();
    }
    return tables_.queue.add(at->thread, next);
}

std::vector<sqlite_queue::row> queue_jobs::queued(const thread_key& key) {
    const auto at = tables_.threads.find(key);
    return at ? tables_.queue.of_thread(at->thread) : std::vector<sqlite_queue::row>();
}

std::vector<queued_request> queue_jobs::read(std::vector<sqlite_queue::row> rows) const {
    std::vector<queued_request> requests;
    requests.reserve(rows.size());
    for (sqlite_queue::row& row : rows) {
        read_queued_messages(row.messages, requests.emplace_back(std::move(row.request)), logger_);
    }
    return requests;
}

bool queue_jobs::withdraw(const thread_key& key, std::int64_t number) {
    const auto at = tables_.threads.find(key);
    return at && tables_.queue.erase(at->thread, number);
}

} // namespace agui::session
