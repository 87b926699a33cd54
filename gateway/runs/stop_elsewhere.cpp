#include "gateway/runs/stop_elsewhere.hpp"

#include "gateway/replay/run_locator.hpp"
#include "gateway/run/peer_door.hpp"
#include "gateway/run/polling.hpp"
#include "session/base/pause.hpp"

#include <chrono>
#include <utility>

namespace agui::gateway {

namespace {

// A waiting request leaves the queue within some milliseconds. If no process handles it, as after a
// restart, it never does.
constexpr std::chrono::seconds leaves_within{2};

// Returns true if the request has left the queue without becoming a run.
boost::asio::awaitable<result<bool>>
wait_until_withdrawn(run_core& core, const conversation_key& conversation, std::string run_id) {
    const auto give_up = std::chrono::steady_clock::now() + leaves_within;
    for (;;) {
        const auto waits = co_await is_queued(core, conversation, run_id);
        if (!waits) {
            co_return waits.error();
        }
        if (!*waits) {
            const auto run =
                co_await core.store_of(conversation).find_run(conversation.thread, run_id);
            if (!run) {
                co_return run.error();
            }
            co_return !run->has_value();
        }
        if (std::chrono::steady_clock::now() >= give_up) {
            co_return false;
        }
        co_await pause(poll_soon);
    }
}

// Asks the process that has the run and, unless that alone settles the stop, all others. nullopt if
// not all processes that may have something to stop could be reached.
boost::asio::awaitable<result<std::optional<stopped_elsewhere>>> ask_others(
    run_core& core, const conversation_key& conversation, const std::optional<run_elsewhere>& there,
    const std::optional<std::string>& run_id, std::chrono::steady_clock::time_point asked
) {
    peer_door* const peers = core.services.peers;
    if (peers == nullptr) {
        co_return std::nullopt;
    }
    const std::int64_t owner = there ? there->gateway : 0;
    if (owner != 0 && run_id && *run_id == there->run_id) {
        const auto met =
            co_await peers->stop(owner, conversation.thread, run_id, stop_wish::cancelled);
        if (met && met->any) {
            co_return stopped_elsewhere{met->any, met->stopped};
        }
    }
    // The request may be on its way to any of them, or wait there.
    const auto all = co_await peers->stop_everywhere(conversation.thread, run_id, owner, asked);
    if (!all) {
        co_return all.error();
    }
    if (!all->all_reached && !all->met.stopped) {
        co_return std::nullopt;
    }
    co_return stopped_elsewhere{all->met.any, all->met.stopped};
}

} // namespace

boost::asio::awaitable<result<stopped_elsewhere>> stop_elsewhere(
    run_core& core, const conversation_key& conversation, const std::optional<std::string>& run_id,
    std::chrono::steady_clock::time_point asked
) {
    // Checked before the stop is sent, so that a run that begins afterwards is not waited for.
    const auto waits =
        run_id ? co_await is_queued(core, conversation, *run_id) : result<bool>(false);
    if (!waits) {
        co_return waits.error();
    }
    const auto there = co_await find_elsewhere(core, conversation);
    if (!there) {
        co_return there.error();
    }
    const auto answered = co_await ask_others(core, conversation, *there, run_id, asked);
    if (!answered) {
        co_return answered.error();
    }
    if (*answered) {
        co_return **answered;
    }
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - asked
    );
    const auto written =
        co_await core.store_of(conversation).request_stop({conversation.thread, run_id, age});
    if (!written) {
        co_return written.error();
    }
    stopped_elsewhere met;
    if (*waits) {
        const auto withdrawn = co_await wait_until_withdrawn(core, conversation, *run_id);
        if (!withdrawn) {
            co_return withdrawn.error();
        }
        met = {*withdrawn, *withdrawn};
    }
    if (!there->has_value() || (*there)->run_id.empty() ||
        (run_id && (*there)->run_id != *run_id)) {
        co_return met;
    }
    const auto ended = co_await wait_for_end_elsewhere(core, conversation, (*there)->run_id, true);
    if (!ended) {
        co_return ended.error();
    }
    const bool by_stop = ended->has_value() && (*ended)->status == session::run_status::cancelled;
    co_return stopped_elsewhere{true, met.stopped || by_stop};
}

} // namespace agui::gateway
