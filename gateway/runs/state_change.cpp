#include "gateway/runs/state_change.hpp"

#include "gateway/run/live_run.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/state_writer.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"
#include "session/store/store_failures.hpp"

#include <chrono>
#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

// How long a change waits for a run that begins or ends, and for other changes.
constexpr std::chrono::seconds state_wait{2};

class thread_release {
public:
    thread_release(run_core& core, const conversation_key& conversation, session::lease_ptr held)
        : core_(core), conversation_(conversation), held_(std::move(held)) {}
    ~thread_release() {
        core_.store_of(conversation_).release(held_);
        core_.registry.wake(conversation_);
    }
    thread_release(const thread_release&) = delete;
    thread_release& operator=(const thread_release&) = delete;

private:
    run_core& core_;
    const conversation_key& conversation_;
    const session::lease_ptr held_;
};

// errc::thread_busy: the thread is held.
boost::asio::awaitable<result<json_text>> change_without_run(
    run_core& core, const conversation_key& conversation, const session::state_change& change
) {
    session::store& store = core.store_of(conversation);
    auto held = co_await store.acquire(conversation.thread, {});
    if (!held) {
        co_return held.error();
    }
    const thread_release release(core, conversation, *held);
    check_failpoint("state.thread_taken");
    auto changed = co_await write_state(
        {.store = store,
         .held = *held,
         .max_thread_bytes = core.settings.max_thread_bytes,
         .heavy = core.services.heavy},
        change, core.services.time.now()
    );
    if (!changed) {
        co_return changed.error();
    }
    co_return std::move(changed->state);
}

// errc::lease_lost: the run has ended meanwhile.
boost::asio::awaitable<result<json_text>>
change_in_run(std::shared_ptr<live_run> run, const session::state_change& change) {
    const auto done = co_await run->change_state(change);
    if (!done) {
        co_return done.error();
    }
    co_return co_await run->load_state();
}

} // namespace

boost::asio::awaitable<result<json_text>> change_state_here(
    std::shared_ptr<run_core> core, session::thread_key key, session::state_change change
) {
    const conversation_key conversation{std::move(key), false};
    // Before the thread is taken, because a thread that does not exist must not be made busy.
    const auto known = co_await core->services.store.summary(conversation.thread);
    if (!known) {
        co_return known.error();
    }
    if (!known->has_value()) {
        co_return session::no_such_thread();
    }
    const auto give_up = std::chrono::steady_clock::now() + state_wait;
    for (;;) {
        const auto live = core->registry.active(conversation);
        result<json_text> changed = failure{errc::internal, {}};
        if (live) {
            changed = co_await change_in_run(live, change);
        } else {
            changed = co_await change_without_run(*core, conversation, change);
        }
        if (changed) {
            co_return changed;
        }
        const failure& why = changed.error();
        const bool may_help =
            why.code == errc::lease_lost || (why.code == errc::thread_busy && why.gateway == 0);
        if (!may_help) {
            co_return changed;
        }
        if (std::chrono::steady_clock::now() >= give_up) {
            co_return failure{
                errc::thread_busy, "another run is active on this thread", {}, why.active_run_id
            };
        }
        co_await pause(poll_soon);
    }
}

} // namespace agui::gateway
