#include "gateway/queue/queue_pickup.hpp"

#include "gateway/admission/accepted_run.hpp"
#include "gateway/queue/queue_entry.hpp"
#include "gateway/run/live_run.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"
#include "translator/agui/protocol_version.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace agui::gateway {

namespace {

requested_run requested_by(const session::left_request& left, unix_ms shared_now) {
    const session::queued_request& row = left.request;
    requested_run what;
    what.principal = left.key.principal;
    what.agent_id = row.agent_id;
    what.input.thread_id = left.key.thread_id;
    what.input.run_id = row.run_id;
    what.input.parent_run_id = row.parent_run_id;
    what.input.projection = translator::projection_from_string(row.protocol)
                                .value_or(translator::projection::undeclared);
    what.only_new = true;
    what.idempotency_key = row.idempotency_key;
    what.received -= std::chrono::milliseconds(std::max<unix_ms>(shared_now - row.waits_since, 0));
    return what;
}

// Locks the queue and reads the stored request. Returns false if a run has taken it, it was
// withdrawn, or the store fails.
boost::asio::awaitable<bool> is_still_queued(accepted_run::admitted& request) {
    run_core& core = *request.core;
    request.queue_lock = co_await core.registry.lock_key(request.conversation, "queue");
    auto queued = co_await core.store_of(request.conversation).queued(request.conversation.thread);
    if (!queued) {
        co_return false;
    }
    const auto own = std::ranges::find_if(*queued, [&](const session::queued_request& each) {
        return each.run_id == request.what.input.run_id;
    });
    if (own == queued->end()) {
        co_return false;
    }
    request.queued = std::move(*own);
    co_return true;
}

// Takes the locks in the same order as a request from a client. Returns false if the request cannot
// be answered here.
boost::asio::awaitable<bool> wait_here(
    std::shared_ptr<run_core> core, std::unique_ptr<run_registry::admission> admission,
    session::left_request left
) {
    auto to_begin = std::make_unique<accepted_run::admitted>();
    accepted_run::admitted& request = *to_begin;
    request.core = core;
    request.executor = co_await boost::asio::this_coro::executor;
    request.agent = core->find_agent(left.request.agent_id);
    if (request.agent == nullptr) {
        core->services.log.log(
            log_level::error,
            "a message queued by another process needs an agent that this process does not have",
            {{"thread", left.key.thread_id}, {"agent", left.request.agent_id}}
        );
        // Another process may have the agent. If the store refuses, the request is left when this
        // process ends.
        (void)co_await core->services.store.leave_queued(left.request.number);
        co_return false;
    }
    request.what = requested_by(left, core->services.store.shared_time(core->services.time.now()));
    request.conversation = {left.key, false};
    request.digest = left.request.input_digest;
    request.admission = std::move(admission);
    const std::string run_id = left.request.run_id;
    request.arrival = core->registry.arrive(request.conversation, run_id, request.what.received);
    if (const std::string& key = request.what.idempotency_key; !key.empty()) {
        request.idempotency_lock =
            co_await core->registry.lock_key(request.conversation, "key " + key);
    }
    request.id_lock = co_await core->registry.lock_key(request.conversation, "run " + run_id);
    check_failpoint("queue.picked_up");
    if (core->queue.find(request.conversation, run_id) || !co_await is_still_queued(request)) {
        co_return true; // Its client has sent it again to this process, or a run has taken it.
    }
    core->services.log.log(
        log_level::info,
        "this process answers a message that another process has left in the queue",
        {{"thread", left.key.thread_id}, {"run", session::client_run_id(run_id)}}
    );
    auto log = live_run::make_log(
        request.executor, core->store_of(request.conversation), core->settings.relaxed_durability,
        core->services.memory
    );
    (void)co_await wait_in_queue(to_begin, std::move(log), {});
    co_return true;
}

} // namespace

boost::asio::awaitable<void> pick_up_queued(std::shared_ptr<run_core> core) {
    if (!core->settings.queue) {
        co_return;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    for (;;) {
        auto admission = core->registry.admit();
        if (!admission) {
            co_return;
        }
        auto left = co_await core->services.store.claim_queued(core->queue.numbers(), 1);
        if (!left || left->empty()) {
            co_return;
        }
        const std::int64_t number = left->front().request.number;
        core->queue.begin_pick_up(number);
        // Concurrently, because a request with the same id may hold its lock for long.
        boost::asio::co_spawn(
            executor, wait_here(core, std::move(*admission), std::move(left->front())),
            [core, number](const std::exception_ptr& thrown, bool can_be_answered) {
                if (thrown || can_be_answered) {
                    // It waits here, or the next search finds it again.
                    core->queue.end_pick_up(number);
                }
                if (thrown) {
                    core->services.log.log(
                        log_level::error,
                        "a message queued by another process could not be taken over"
                    );
                }
            }
        );
    }
}

} // namespace agui::gateway
