#include "session/sqlite/queue_jobs.hpp"

#include "session/base/stored_json.hpp"
#include "session/conversation/message_json.hpp"
#include "session/store/store_failures.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::session {

namespace json = boost::json;

queue_jobs::prepared queue_jobs::prepare(queued_request request) {
    prepared next;
    next.bytes = bytes_of(request);
    json::array messages;
    for (const message& each : request.messages) {
        messages.emplace_back(to_stored_json(each));
    }
    next.messages = json::serialize(messages);
    request.messages.clear();
    next.request = std::move(request);
    return next;
}

result<std::int64_t>
queue_jobs::enqueue(const thread_key& key, const prepared& next, const queue_limits& limits) {
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
    return tables_.queue.add(at->thread, next.request, next.messages, next.bytes);
}

std::vector<sqlite_queue::row> queue_jobs::queued(const thread_key& key) {
    const auto at = tables_.threads.find(key);
    return at ? tables_.queue.of_thread(at->thread) : std::vector<sqlite_queue::row>();
}

std::vector<queued_request> queue_jobs::read(std::vector<sqlite_queue::row> rows) const {
    std::vector<queued_request> requests;
    requests.reserve(rows.size());
    const auto leave_out = [&](const queued_request& of, const failure& reason) {
        logger_.log(
            log_level::warning, "left out a queued message that cannot be read",
            {{"run", of.run_id}, {"reason", reason.detail}}
        );
    };
    for (sqlite_queue::row& row : rows) {
        queued_request& request = requests.emplace_back(std::move(row.request));
        const result<json::value> parsed = parse_stored(row.messages);
        if (!parsed || !parsed->is_array()) {
            leave_out(request, parsed ? failure{errc::invalid_json, "no array"} : parsed.error());
            continue;
        }
        for (const json::value& each : parsed->get_array()) {
            if (result<message> given = message_from_stored_json(each)) {
                request.messages.push_back(std::move(*given));
            } else {
                leave_out(request, given.error());
            }
        }
    }
    return requests;
}

bool queue_jobs::withdraw(const thread_key& key, std::int64_t number) {
    const auto at = tables_.threads.find(key);
    return at && tables_.queue.erase(at->thread, number);
}

} // namespace agui::session
