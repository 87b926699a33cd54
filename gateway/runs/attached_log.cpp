#include "gateway/runs/attached_log.hpp"

#include "gateway/replay/run_locator.hpp"
#include "gateway/replay/run_replay.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/run_registry.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace agui::gateway {

namespace {

using session::thread_key;

struct found_run {
    conversation_key conversation;
    known_run known;
};

boost::asio::awaitable<result<found_run>>
find_any(run_core& core, const thread_key& key, const std::string& run_id) {
    for (const bool ephemeral : {false, true}) {
        const conversation_key conversation{key, ephemeral};
        // Locks the runId, because the run may be stored but not active while it is just beginning.
        const auto lock = co_await core.registry.lock_key(conversation, "run " + run_id);
        auto known = co_await find_run(core, conversation, run_id);
        if (!known) {
            co_return known.error();
        }
        if (known->has_value()) {
            co_return found_run{conversation, std::move(**known)};
        }
    }
    const conversation_key conversation{key, false};
    auto queued = co_await find_queued(core, conversation, run_id);
    if (!queued) {
        co_return queued.error();
    }
    if (!queued->has_value()) {
        co_return failure{errc::not_found, "the thread has no run with this id", {}, {}};
    }
    co_return found_run{conversation, std::move(**queued)};
}

// Waits, for a limited time, until the log shows the event or has ended.
boost::asio::awaitable<void> wait_briefly(std::shared_ptr<event_log> log, std::uint64_t sequence) {
    const auto who = std::make_shared<event_log::waiter>(co_await boost::asio::this_coro::executor);
    boost::asio::steady_timer timer(who->executor(), poll_period);
    timer.async_wait([log, who](boost::system::error_code ec) {
        if (!ec) {
            log->wake(*who);
        }
    });
    event_log::cursor at;
    at.after = sequence - 1;
    co_await log->wait(at, *who);
}

// The log of one segment of a run. `after` is in the segment's own numbers.
boost::asio::awaitable<result<attached_log>>
attach_segment(run_core& core, thread_key key, std::string run_id, std::uint64_t after) {
    // The log of the previous look. A new one would follow the run from its beginning again.
    std::shared_ptr<event_log> followed;
    std::int64_t followed_run = 0;
    for (;;) {
        auto run = co_await find_any(core, key, run_id);
        if (!run) {
            co_return run.error();
        }
        const bool is_followed = followed && !followed->ended() && !run->known.log &&
                                 run->known.record.number == followed_run;
        result<std::shared_ptr<event_log>> log = followed;
        if (!is_followed) {
            log = co_await log_of(core, run->conversation, run->known);
        }
        if (!log && log.error().code == errc::run_expired) {
            co_return failure{
                errc::cursor_expired, "the events of this run are no longer stored", "after"
            };
        }
        if (!log) {
            co_return log.error();
        }
        const event_log& found = **log;
        const session::run_record& record = run->known.record;
        // A client may have seen events that a database failover lost. Other events may have their
        // numbers.
        const bool is_sound = after <= record.sound_until.value_or(after);
        if (is_sound && after <= found.visible_sequence()) {
            co_return attached_log{
                std::move(*log),
                translator::projection_from_string(record.protocol)
                    .value_or(translator::projection::undeclared),
                after, session::first_number(run_id)
            };
        }
        if (found.cuts_readers_off()) {
            co_return failure{
                errc::overloaded, "there is not enough memory for the events", {}, {}
            };
        }
        // Another gateway may show events a moment before this one can read them, or knows that its
        // own are durable. A log that follows a run lags behind the store for a while after the
        // run's end.
        const std::uint64_t last = std::max(found.last_sequence(), record.last_sequence);
        const bool may_come =
            !found.ended() && (run->known.place == run_place::elsewhere || after <= last);
        if (!is_sound || !may_come) {
            co_return failure{errc::cursor_expired, "the run has no such event", "after", {}};
        }
        if (core.registry.draining()) {
            co_return failure{errc::draining, "the server is stopping", {}, {}};
        }
        // Waits here, not in the stream: if the run is lost, its end may reuse the number of an
        // event that the client has seen.
        co_await wait_briefly(*log, after);
        followed = std::move(*log);
        followed_run = record.number;
    }
}

} // namespace

boost::asio::awaitable<result<attached_log>> attach_to_run(
    std::shared_ptr<run_core> core, thread_key key, std::string run_id, std::uint64_t after
) {
    const std::uint64_t before = after / session::segment_span;
    if (before >= UINT32_MAX) {
        co_return failure{errc::cursor_expired, "the run has no such event", "after", {}};
    }
    auto number = static_cast<std::uint32_t>(before + 1);
    auto attached = co_await attach_segment(
        *core, key, session::segment_id(run_id, number), after % session::segment_span
    );
    if (!attached && attached.error().code == errc::not_found && number > 1) {
        const auto first = co_await find_any(*core, key, run_id);
        if (first) {
            co_return failure{errc::cursor_expired, "the run has no such event", "after", {}};
        }
    }
    // A reader that has all of a segment goes on with the next one.
    while (attached && attached->log->ended() &&
           attached->after >= attached->log->visible_sequence()) {
        auto next = co_await attach_segment(*core, key, session::segment_id(run_id, ++number), 0);
        if (!next && next.error().code == errc::not_found) {
            break;
        }
        attached = std::move(next);
    }
    co_return attached;
}

} // namespace agui::gateway
