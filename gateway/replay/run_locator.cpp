#include "gateway/replay/run_locator.hpp"

#include "gateway/run/polling.hpp"
#include "gateway/run/run_queue.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {

namespace {

using session::run_status;

boost::asio::awaitable<result<std::optional<known_run>>>
look_run_up(run_core& core, conversation_key conversation, std::string run_id) {
    if (const auto live = core.registry.active(conversation);
        live && live->record().run_id == run_id) {
        co_return known_run{live->record(), live->log(), run_place::here};
    }
    session::store& store = core.store_of(conversation);
    const auto waiting = core.queue.find(conversation, run_id);
    if (waiting && !store.is_shared()) {
        co_return known_run{waiting->record, waiting->log, run_place::here};
    }
    auto kept = core.registry.find_log(conversation, run_id);
    auto stored = co_await store.find_run(std::move(conversation.thread), std::move(run_id));
    // It may wait here although it has begun in another process, which the waiting request notices
    // later.
    if (waiting && !(stored && stored->has_value())) {
        co_return known_run{waiting->record, waiting->log, run_place::here};
    }
    if (!stored) {
        co_return stored.error();
    }
    if (!stored->has_value()) {
        co_return std::optional<known_run>();
    }
    const bool is_active = !kept && (*stored)->status == run_status::active;
    co_return known_run{
        std::move(**stored), std::move(kept), is_active ? run_place::lost : run_place::ended
    };
}

} // namespace

boost::asio::awaitable<result<std::optional<run_elsewhere>>>
find_elsewhere(run_core& core, const conversation_key& conversation) {
    session::store& store = core.store_of(conversation);
    if (!store.is_shared()) {
        co_return std::optional<run_elsewhere>();
    }
    auto holder = co_await store.holder(conversation.thread);
    if (!holder) {
        co_return holder.error();
    }
    if (!holder->has_value() || (*holder)->is_here) {
        co_return std::optional<run_elsewhere>();
    }
    session::thread_holder& found = **holder;
    co_return run_elsewhere{
        std::move(found.run_id), found.run_number, found.first_own_message, found.gateway
    };
}

boost::asio::awaitable<result<std::optional<known_run>>>
find_run(run_core& core, conversation_key conversation, std::string run_id) {
    auto known = co_await look_run_up(core, conversation, run_id);
    if (!known || !known->has_value() || (*known)->place != run_place::lost) {
        co_return known;
    }
    const auto elsewhere = co_await find_elsewhere(core, conversation);
    if (!elsewhere) {
        co_return elsewhere.error();
    }
    // A process that holds the thread for itself is about to end the lost run.
    if (elsewhere->has_value() &&
        ((*elsewhere)->run_id == run_id || (*elsewhere)->run_id.empty())) {
        (*known)->place = run_place::elsewhere;
        (*known)->gateway = (*elsewhere)->run_id == run_id ? (*elsewhere)->gateway : 0;
        co_return known;
    }
    // It may have ended since it was looked up. Then the thread must not be held, because its next
    // run may want it at once.
    known = co_await look_run_up(core, conversation, run_id);
    if (!known || !known->has_value() || (*known)->place != run_place::lost) {
        co_return known;
    }
    pass_failpoint("locator.lost");
    (void)co_await core.orphans.recover(core.store_of(conversation), conversation);
    co_return co_await look_run_up(core, conversation, run_id);
}

boost::asio::awaitable<result<std::optional<known_run>>>
find_queued(run_core& core, const conversation_key& conversation, std::string run_id) {
    session::store& store = core.store_of(conversation);
    if (!store.is_shared()) {
        co_return std::optional<known_run>();
    }
    auto queued = co_await store.queued(conversation.thread);
    if (!queued) {
        co_return queued.error();
    }
    const auto found = std::ranges::find(*queued, run_id, &session::queued_request::run_id);
    if (found == queued->end()) {
        // It may have begun since.
        co_return co_await find_run(core, conversation, std::move(run_id));
    }
    known_run waiting;
    waiting.record = record_of(*found);
    waiting.place = run_place::elsewhere;
    waiting.gateway = found->gateway;
    co_return waiting;
}

boost::asio::awaitable<result<bool>>
is_queued(run_core& core, const conversation_key& conversation, std::string run_id) {
    session::store& store = core.store_of(conversation);
    if (!core.settings.queue || !store.is_shared()) {
        co_return false;
    }
    const auto queued = co_await store.queued(conversation.thread);
    if (!queued) {
        co_return queued.error();
    }
    co_return std::ranges::any_of(*queued, [&](const session::queued_request& each) {
        return each.run_id == run_id;
    });
}

boost::asio::awaitable<result<std::optional<session::run_record>>> wait_for_end_elsewhere(
    run_core& core, const conversation_key& conversation, std::string run_id, bool stops
) {
    session::store& store = core.store_of(conversation);
    for (;;) {
        auto known = co_await find_run(core, conversation, run_id);
        if (!known) {
            co_return known.error();
        }
        if (known->has_value() && (*known)->place != run_place::elsewhere) {
            co_return std::move((*known)->record);
        }
        if (!known->has_value()) {
            const auto there = co_await find_elsewhere(core, conversation);
            if (!there || !there->has_value() || (*there)->run_id != run_id) {
                co_return std::optional<session::run_record>();
            }
        }
        if (core.registry.draining()) { // A drain stops no run of another process.
            co_return failure{errc::draining, "the server is stopping", {}, {}};
        }
        co_await pause(known->has_value() ? poll_period : 2 * poll_soon);
        if (known->has_value() && stops) {
            // If the store fails, the request is repeated.
            (void)co_await store.request_stop({conversation.thread, run_id});
        }
    }
}

} // namespace agui::gateway
