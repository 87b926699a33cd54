#include "gateway/queue/thread_wait.hpp"

#include "gateway/queue/queue_entry.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/peer_door.hpp"
#include "gateway/run/polling.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"
#include "session/store/store_failures.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace agui::gateway {

namespace {

using runner::stop_reason;

bool ends_in_user_message(const translator::run_input& input) {
    return !input.messages.empty() && input.messages.back().role == session::role::user;
}

bool gives_way(const run_settings& settings, const live_run& active) {
    return settings.supersede_active || (settings.supersede_detached && active.detached());
}

constexpr std::chrono::seconds lets_go_within{1};

// Returns true if the thread is held by a repeat of a run that has ended. A repeat that was delayed
// in another process acquires the thread after the run has ended, and notices only then. A client
// that saw the end must not be refused for that.
boost::asio::awaitable<bool>
is_held_for_ended(const accepted_run::admitted& request, const std::string& holder) {
    session::store& store = request.core->store_of(request.conversation);
    if (!store.is_shared() || holder.empty()) {
        co_return false;
    }
    const auto run = co_await store.find_run(request.conversation.thread, holder);
    co_return run && run->has_value() && (*run)->status != session::run_status::active;
}

bool is_passed_on(const accepted_run::admitted& request, const failure& busy) {
    return request.what.may_be_passed && busy.gateway != 0;
}

boost::asio::awaitable<result<void>> acquire(accepted_run::admitted& request) {
    session::store& store = request.core->store_of(request.conversation);
    const std::string& run_id = request.what.input.run_id;
    const auto give_up = std::chrono::steady_clock::now() + lets_go_within;
    for (;;) {
        auto taken = co_await store.acquire(request.conversation.thread, run_id);
        if (taken) {
            request.held = std::move(*taken);
            co_return result<void>();
        }
        if (taken.error().code != errc::thread_busy || is_passed_on(request, taken.error())) {
            co_return taken.error();
        }
        // In this process, no other request has this runId at the same time
        // (run_registry::lock_key).
        if (taken.error().active_run_id == run_id) {
            co_return session::run_id_taken();
        }
        // The server itself holds a thread only for a moment, to change its state or to end a lost
        // run.
        const bool is_held_briefly = taken.error().active_run_id.empty();
        if (std::chrono::steady_clock::now() >= give_up ||
            !(is_held_briefly || co_await is_held_for_ended(request, taken.error().active_run_id)
            )) {
            co_return taken.error();
        }
        pass_failpoint("admission.held_for_ended");
        co_await pause(poll_soon);
    }
}

// Supersedes a run of another process, if the settings say so. Returns true if that process had a
// run to stop, which may have ended.
boost::asio::awaitable<bool>
gives_way_elsewhere(const accepted_run::admitted& request, const failure& busy) {
    const run_core& core = *request.core;
    const run_settings& settings = core.settings;
    if (busy.gateway == 0 || busy.active_run_id.empty() || core.services.peers == nullptr ||
        !(settings.supersede_active || settings.supersede_detached)) {
        co_return false;
    }
    const auto met = co_await core.services.peers->stop(
        busy.gateway, request.conversation.thread, busy.active_run_id,
        settings.supersede_active ? stop_wish::superseded : stop_wish::superseded_if_left
    );
    co_return met && met->any;
}

// With a queue: acquires the thread for a user message that need not wait; otherwise returns false.
// A stopped request is refused instead of waiting.
boost::asio::awaitable<result<bool>> is_free(accepted_run::admitted& request) {
    run_core& core = *request.core;
    if (request.what.may_be_passed && request.queue_gateway != 0) {
        co_return failure{
            errc::thread_busy,
            "messages for this thread are queued in another process",
            {},
            {},
            request.queue_gateway
        };
    }
    if (request.queued || request.others_queued || core.queue.is_awaited(request.conversation)) {
        co_return false;
    }
    const auto taken = co_await acquire(request);
    if (taken) {
        co_return true;
    }
    if (taken.error().code != errc::thread_busy || request.arrival->stopped() ||
        is_passed_on(request, taken.error())) {
        co_return taken.error();
    }
    co_return false;
}

} // namespace

boost::asio::awaitable<result<void>> take_thread(accepted_run::admitted& request) {
    run_core& core = *request.core;
    const conversation_key& conversation = request.conversation;
    const translator::run_input& input = request.what.input;
    const auto is_busy = [](const result<void>& taken) {
        return !taken && taken.error().code == errc::thread_busy;
    };
    auto taken = co_await acquire(request);
    // With a queue, a waiting request may briefly hold the thread until it finds a hand-off. An
    // answer must not be refused for that.
    if (!is_busy(taken) || is_passed_on(request, taken.error()) ||
        (!ends_in_user_message(input) && !core.settings.queue)) {
        co_return taken;
    }
    pass_failpoint("admission.busy");
    const auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_conversation(conversation, request.executor);
    bool was_asked = false;
    for (;;) {
        // Also before the first wait, because the run may have ended before the watch existed.
        taken = co_await acquire(request);
        if (!is_busy(taken) || request.arrival->stopped() || is_passed_on(request, taken.error())) {
            co_return taken;
        }
        const auto holder = core.registry.active(conversation);
        if (holder && gives_way(core.settings, *holder)) {
            holder->stop(stop_reason::superseded);
            co_await holder->ended().wait();
            continue;
        }
        if (!std::exchange(was_asked, true) &&
            co_await gives_way_elsewhere(request, taken.error())) {
            continue;
        }
        if (std::chrono::steady_clock::now() >= give_up) {
            co_return taken;
        }
        pass_failpoint("admission.waits");
        co_await watch->wait_until(give_up);
    }
}

boost::asio::awaitable<result<bool>> take_thread_or_queue(
    std::unique_ptr<accepted_run::admitted>& to_begin, const std::shared_ptr<event_log>& log,
    const std::vector<session::message>& messages
) {
    accepted_run::admitted& request = *to_begin;
    run_core& core = *request.core;
    const auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_conversation(request.conversation, request.executor);
    for (;;) {
        const auto free = co_await is_free(request);
        if (!free) {
            co_return free.error();
        }
        if (*free) {
            co_return false;
        }
        const auto queued = co_await wait_in_queue(to_begin, log, messages);
        if (queued) {
            co_return true;
        }
        if (queued.error().code != errc::not_found) {
            co_return queued.error();
        }
        if (std::chrono::steady_clock::now() >= give_up) {
            const auto holder =
                co_await core.store_of(request.conversation).holder(request.conversation.thread);
            co_return failure{
                errc::thread_busy,
                "another run is active on this thread",
                {},
                holder && holder->has_value() ? (*holder)->run_id : std::string()
            };
        }
        // Either the first run of the thread is about to begin, or the thread was removed with its
        // queue. Waiting requests must notice the removal.
        request.others_queued = false;
        core.registry.wake(request.conversation);
        co_await watch->wait_until(give_up);
    }
}

} // namespace agui::gateway
