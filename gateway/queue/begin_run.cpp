#include "gateway/queue/begin_run.hpp"

#include "gateway/admission/repeated_run.hpp"
#include "gateway/admission/run_beginning.hpp"
#include "gateway/admission/run_setup.hpp"
#include "gateway/queue/thread_wait.hpp"

#include <memory>
#include <utility>

namespace agui::gateway {

namespace {

// Moves `to_begin` to the queue if it waits there.
boost::asio::awaitable<result<void>>
begin_admitted(std::unique_ptr<accepted_run::admitted>& to_begin, std::shared_ptr<event_log> log) {
    accepted_run::admitted& request = *to_begin;
    run_core& core = *request.core;
    bool has_thread = false;
    if (core.settings.queue) {
        const auto messages = messages_to_queue(request.what.input, request.thread);
        if (request.queued || !messages.empty()) {
            const auto waits = co_await take_thread_or_queue(to_begin, log, messages);
            if (!waits) {
                co_return waits.error();
            }
            if (*waits) {
                co_return result<void>();
            }
            has_thread = true;
        }
    }
    if (core.settings.supersede_active) {
        // Requests proceed in order of arrival, so that an older message does not stop the run of a
        // newer one. The lock is held until the run has begun, because only then the next message
        // can stop it.
        request.thread_lock = co_await core.registry.lock_key(request.conversation, "thread");
    }
    if (!has_thread) {
        const auto taken = co_await take_thread(request);
        if (!taken) {
            co_return taken.error();
        }
    }
    const auto begun = co_await begin_on_thread(request, std::move(log));
    if (!begun) {
        co_return begun.error();
    }
    co_return result<void>();
}

} // namespace

boost::asio::awaitable<result<void>> begin_run(accepted_run accepted) {
    // Destroyed when this function returns, unless it waits in the queue.
    std::unique_ptr<accepted_run::admitted> to_begin = std::move(accepted.to_begin);
    if (!to_begin) {
        co_return result<void>();
    }
    auto begun = co_await begin_admitted(to_begin, accepted.log);
    if (!begun && begun.error().code == errc::run_id_reused && to_begin &&
        to_begin->core->store_of(to_begin->conversation).is_shared()) {
        begun = co_await read_repeated(*to_begin, accepted.log);
    }
    co_return begun;
}

} // namespace agui::gateway
