#include "gateway/queue/queue_entry.hpp"

#include "gateway/admission/run_beginning.hpp"
#include "gateway/queue/queued_run.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/message_size.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace agui::gateway {

namespace {

// Stores the messages and returns their number.
boost::asio::awaitable<result<std::int64_t>>
store_messages(const accepted_run::admitted& request, const session::queued_request& row) {
    run_core& core = *request.core;
    session::store& store = core.store_of(request.conversation);
    const std::uint64_t most = core.settings.max_thread_bytes;
    const std::uint64_t used = request.thread ? std::min(request.thread->bytes, most) : 0;
    const session::queue_limits limits{core.settings.queue->max, most - used};
    std::uint64_t bytes = 0;
    for (const session::message& each : row.messages) {
        bytes += session::stored_size(each);
    }
    if (bytes > limits.bytes) {
        co_return failure{
            errc::body_too_large,
            "the thread would have more than " + std::to_string(most) +
                " bytes of messages: start a new thread",
            "messages"
        };
    }
    co_return co_await store.enqueue(request.conversation.thread, row, limits);
}

session::queued_request row_of(const waiting_run& waiting, std::vector<session::message> messages) {
    const session::run_record& record = waiting.record;
    session::queued_request row;
    row.run_id = record.run_id;
    row.parent_run_id = record.parent_run_id;
    row.agent_id = record.agent_id;
    row.input_digest = record.input_digest;
    row.idempotency_key = record.idempotency_key;
    row.protocol = record.protocol;
    row.queued_at = record.started_at;
    row.waits_since = waiting.waits_since;
    row.messages = std::move(messages);
    return row;
}

} // namespace

boost::asio::awaitable<result<void>> wait_in_queue(
    std::unique_ptr<accepted_run::admitted>& request, std::shared_ptr<event_log> log,
    std::vector<session::message> messages
) {
    run_core& core = *request->core;
    const unix_ms queued_at =
        request->queued ? request->queued->queued_at : core.services.time.now();
    auto waiting = std::make_shared<waiting_run>();
    waiting->conversation = request->conversation;
    waiting->record = record_of(*request, queued_at);
    waiting->waits_since = request->queued
                               ? request->queued->waits_since
                               : core.store_of(request->conversation).shared_time(queued_at);
    waiting->log = std::move(log);
    waiting->log->hold_back();
    if (request->queued) {
        waiting->number = request->queued->number;
    }
    core.queue.add(waiting);
    request->queue_lock.reset();
    // Undone unless the request will wait.
    struct registration {
        ~registration() {
            if (waiting) {
                core->queue.remove(waiting);
            }
        }
        std::shared_ptr<run_core> core;
        std::shared_ptr<waiting_run> waiting;
    } registered{request->core, waiting};
    check_failpoint("queue.store");
    if (!request->queued) {
        const session::queued_request row = row_of(*waiting, std::move(messages));
        const auto number = co_await store_messages(*request, row);
        if (!number) {
            co_return number.error();
        }
        core.queue.set_stored(*waiting, *number);
    }
    check_failpoint("queue.stored");
    // From here on repeats find it. Its run reads the thread again when it begins.
    request->waiting = waiting;
    request->idempotency_lock.reset();
    request->id_lock.reset();
    request->thread.reset();
    request->is_thread_read = false;
    request->what.input.messages.clear();
    request->queued.reset();
    start_queued_run(std::move(request), waiting);
    registered.waiting.reset();
    core.registry.wake(waiting->conversation);
    co_return result<void>();
}

} // namespace agui::gateway
