#include "gateway/runs/thread_wait.hpp"

#include "gateway/runs/live_run.hpp"
#include "gateway/runs/peer_door.hpp"
#include "gateway/runs/peer_link.hpp"
#include "gateway/runs/queued_run.hpp"
#include "gateway/runs/run_locator.hpp"
#include "session/base/failpoint.hpp"
#include "session/store/store_failures.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

namespace {

using runner::stop_reason;

// How long a run in another process may take to end after it was asked to: it ends, or it does so
// only if its readers have left, and does not say which.
std::chrono::milliseconds time_to_end(const run_core& core) {
    constexpr std::chrono::milliseconds certain{5'000};
    constexpr std::chrono::milliseconds uncertain{250};
    return core.settings.supersede_active     ? certain
           : core.settings.supersede_detached ? uncertain
                                              : std::chrono::milliseconds(0);
}

bool ends_in_user_message(const translator::run_input& input) {
    return !input.messages.empty() && input.messages.back().role == session::role::user;
}

bool gives_way(const run_settings& settings, const live_run& active) {
    return settings.supersede_active || (settings.supersede_detached && active.detached());
}

// How long another process may take to let go of a thread that it has for a run that has ended.
constexpr std::chrono::milliseconds look_at_ended_again{20};
constexpr std::chrono::seconds lets_go_within{1};

// A repeat that was held up in another process, by the database or because that process stood
// still, gets the thread once its run is over, and finds that out only then. Who has seen the end
// must not be refused for that.
boost::asio::awaitable<bool>
is_held_for_ended(const accepted_run::admitted& request, const std::string& holder) {
    session::store& store = request.core->store_of(request.place);
    if (!store.is_shared() || holder.empty()) {
        co_return false;
    }
    const auto run = co_await store.find_run(request.place.thread, holder);
    co_return run && run->has_value() && (*run)->status != session::run_status::active;
}

bool is_passed_on(const accepted_run::admitted& request, const failure& busy) {
    return request.what.may_be_passed && busy.gateway != 0;
}

boost::asio::awaitable<result<void>> acquire(accepted_run::admitted& request) {
    session::store& store = request.core->store_of(request.place);
    const std::string& run_id = request.what.input.run_id;
    const auto give_up = std::chrono::steady_clock::now() + lets_go_within;
    for (;;) {
        auto taken = co_await store.acquire(request.place.thread, run_id);
        if (taken) {
            request.held = std::move(*taken);
            co_return result<void>();
        }
        if (taken.error().code != errc::thread_busy || is_passed_on(request, taken.error())) {
            co_return taken.error();
        }
        // Here no other request has this runId at the same time (run_registry::take_turn).
        if (taken.error().active_run_id == run_id) {
            co_return session::run_id_taken();
        }
        if (std::chrono::steady_clock::now() >= give_up ||
            !co_await is_held_for_ended(request, taken.error().active_run_id)) {
            co_return taken.error();
        }
        pass_failpoint("admission.held_for_ended");
        boost::asio::steady_timer timer(request.executor, look_at_ended_again);
        co_await timer.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }
}

// Asks the process that has the run. If that cannot be asked, it hears of it by the store, and
// answers only by the run's end.
boost::asio::awaitable<void>
let_give_way(std::shared_ptr<run_core> core, conversation_key place, run_elsewhere run) {
    const bool at_once = core->settings.supersede_active;
    if (core->services.peers != nullptr && run.gateway != 0) {
        const stop_wish wish = at_once ? stop_wish::superseded : stop_wish::superseded_if_left;
        const auto met =
            co_await core->services.peers->stop(run.gateway, place.thread, run.run_id, wish);
        if (met && met->any) {
            co_return;
        }
    }
    const std::string_view reason = at_once ? peer_stop::superseded : peer_stop::superseded_if_left;
    (void)co_await core->store_of(place).request_stop(
        {place.thread, run.run_id, std::string(reason)}
    );
}

// What to do about a run in another process that holds the thread.
class holder_elsewhere {
public:
    holder_elsewhere(accepted_run::admitted& request, run_elsewhere run)
        : request_(request),
          run_(std::move(run)),
          wakes_(*request.core, request.place, run_.number, request.executor) {}

    [[nodiscard]] std::int64_t number() const noexcept { return run_.number; }

    // Lets it give way, if the settings say so: once. Whoever watches the thread is woken when the
    // process that has it has answered.
    void ask() {
        const run_settings& settings = request_.core->settings;
        if (asked_ || !(settings.supersede_active || settings.supersede_detached)) {
            return;
        }
        asked_ = std::make_shared<bool>(true);
        boost::asio::co_spawn(
            request_.executor, let_give_way(request_.core, request_.place, run_),
            [core = request_.core, place = request_.place,
             asking = asked_](const std::exception_ptr&) {
                *asking = false;
                core->registry.wake(place);
            }
        );
    }

    // It has not answered yet.
    [[nodiscard]] bool is_asking() const noexcept { return asked_ && *asked_; }

private:
    accepted_run::admitted& request_;
    const run_elsewhere run_;
    const wake_from_elsewhere wakes_;
    std::shared_ptr<bool> asked_; ///< True until it has answered; null: it was not asked.
};

// With a queue: acquires the thread for a user message, if it need not wait. A stopped request is
// refused instead of waiting.
boost::asio::awaitable<result<bool>> is_free(accepted_run::admitted& request) {
    run_core& core = *request.core;
    if (request.what.may_be_passed && request.queue_gateway != 0) {
        co_return failure{
            errc::thread_busy, "messages wait in another process", {}, {}, request.queue_gateway
        };
    }
    if (request.queued || request.others_queued || core.queue.is_awaited(request.place)) {
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
    const conversation_key& place = request.place;
    const translator::run_input& input = request.what.input;
    const auto is_busy = [](const result<void>& taken) {
        return !taken && taken.error().code == errc::thread_busy;
    };
    auto taken = co_await acquire(request);
    // With a queue, the thread may be held for a moment by one that waits and finds a hand-off: an
    // answer must not be refused for that.
    if (!is_busy(taken) || is_passed_on(request, taken.error()) ||
        (!ends_in_user_message(input) && !core.settings.queue)) {
        co_return taken;
    }
    pass_failpoint("admission.busy");
    auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_place(place, request.executor);
    std::optional<holder_elsewhere> elsewhere;
    for (;;) {
        // Before the first wait too: the run may have ended before the watch was there.
        taken = co_await acquire(request);
        if (!is_busy(taken) || request.arrival->stopped() || is_passed_on(request, taken.error())) {
            co_return taken;
        }
        const auto holder = core.registry.active(place);
        if (holder && gives_way(core.settings, *holder)) {
            holder->stop(stop_reason::superseded);
            co_await holder->ended().wait();
            continue;
        }
        const auto found = co_await find_elsewhere(core, place);
        if (found && found->has_value() && (*found)->number != 0 &&
            (!elsewhere || elsewhere->number() != (*found)->number)) {
            // It may end before the watch is there, so that the thread is tried once more.
            elsewhere.emplace(request, **found);
            elsewhere->ask();
            give_up = std::max(give_up, std::chrono::steady_clock::now() + time_to_end(core));
            continue;
        }
        const bool is_asking = elsewhere && elsewhere->is_asking();
        if (std::chrono::steady_clock::now() >= give_up && !is_asking) {
            co_return taken;
        }
        pass_failpoint("admission.waits");
        co_await watch->wait_until(
            is_asking ? std::chrono::steady_clock::time_point::max() : give_up
        );
    }
}

boost::asio::awaitable<result<bool>> take_thread_or_queue(
    std::unique_ptr<accepted_run::admitted>& to_begin, const std::shared_ptr<event_log>& log,
    const std::vector<session::message>& messages
) {
    accepted_run::admitted& request = *to_begin;
    run_core& core = *request.core;
    const auto give_up = std::chrono::steady_clock::now() + core.settings.busy_wait;
    const auto watch = core.registry.watch_place(request.place, request.executor);
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
            const auto holder = co_await core.store_of(request.place).holder(request.place.thread);
            co_return failure{
                errc::thread_busy,
                "another run is active on this thread",
                {},
                holder && holder->has_value() ? (*holder)->run_id : std::string()
            };
        }
        // The first run of the thread is about to begin; or the thread was removed, with what was
        // queued, which those who wait there will see now.
        request.others_queued = false;
        core.registry.wake(request.place);
        co_await watch->wait_until(give_up);
    }
}

} // namespace agui::gateway
