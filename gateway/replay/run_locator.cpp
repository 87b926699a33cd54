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

std::optional<run_elsewhere> elsewhere_of(std::optional<session::thread_holder> holder) {
    if (!holder || holder->is_here) {
        return std::nullopt;
    }
    return run_elsewhere{
        std::move(holder->run_id), holder->run_number, holder->first_own_message, holder->gateway
    };
}

struct looked_up {
    std::optional<known_run> run{};
    std::optional<run_elsewhere> elsewhere{}; ///< Set only for a run that is not here.
};

boost::asio::awaitable<result<looked_up>>
look_run_up(run_core& core, conversation_key conversation, std::string run_id) {
    if (const auto live = core.registry.active(conversation);
        live && live->record().run_id == run_id) {
        co_return looked_up{.run = known_run{live->record(), live->log(), run_place::here}};
    }
    session::store& store = core.store_of(conversation);
    const auto waiting = core.queue.find(conversation, run_id);
    if (waiting && !store.is_shared()) {
        co_return looked_up{.run = known_run{waiting->record, waiting->log, run_place::here}};
    }
    auto kept = core.registry.find_log(conversation, run_id);
    auto stored = co_await store.locate_run(std::move(conversation.thread), std::move(run_id));
    // It may wait here although it has begun in another process, which the waiting request notices
    // later.
    if (waiting && !(stored && stored->run)) {
        co_return looked_up{.run = known_run{waiting->record, waiting->log, run_place::here}};
    }
    if (!stored) {
        co_return stored.error();
    }
    if (!stored->run) {
        co_return looked_up();
    }
    const bool is_active = !kept && stored->run->status == run_status::active;
    looked_up found{
        .run =
            known_run{
                std::move(*stored->run), std::move(kept),
                is_active ? run_place::lost : run_place::ended
            }
    };
    if (is_active && store.is_shared()) {
        found.elsewhere = elsewhere_of(std::move(stored->holder));
    }
    co_return found;
}

bool is_lost(const result<looked_up>& found) {
    return found && found->run && found->run->place == run_place::lost;
}

result<std::optional<known_run>> run_of(result<looked_up> found) {
    if (!found) {
        return found.error();
    }
    return std::move(found->run);
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
    co_return elsewhere_of(std::move(*holder));
}

boost::asio::awaitable<result<std::optional<known_run>>>
find_run(run_core& core, conversation_key conversation, std::string run_id) {
    auto found = co_await look_run_up(core, conversation, run_id);
    if (!is_lost(found)) {
        co_return run_of(std::move(found));
    }
    const auto& elsewhere = found->elsewhere;
    // A process that holds the thread for itself is about to end the lost run.
    if (elsewhere && (elsewhere->run_id == run_id || elsewhere->run_id.empty())) {
        found->run->place = run_place::elsewhere;
        found->run->gateway = elsewhere->run_id == run_id ? elsewhere->gateway : 0;
        co_return run_of(std::move(found));
    }
    // It may have ended since it was looked up. Then the thread must not be held, because its next
    // run may want it at once.
    found = co_await look_run_up(core, conversation, run_id);
    if (!is_lost(found)) {
        co_return run_of(std::move(found));
    }
    pass_failpoint("locator.lost");
    (void)co_await core.orphans.recover(core.store_of(conversation), conversation);
    co_return run_of(co_await look_run_up(core, conversation, run_id));
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
