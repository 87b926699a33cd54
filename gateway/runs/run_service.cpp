#include "gateway/runs/run_service.hpp"

#include "gateway/admission/run_admission.hpp"
#include "gateway/log/thread_recording.hpp"
#include "gateway/queue/begin_run.hpp"
#include "gateway/queue/queue_pickup.hpp"
#include "gateway/replay/followed_run.hpp"
#include "gateway/replay/run_replay.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/run_registry.hpp"
#include "gateway/runs/peer_link.hpp"
#include "gateway/runs/state_change.hpp"
#include "gateway/runs/stop_elsewhere.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using runner::stop_reason;
using session::thread_key;

// Copies of a thread's text in memory: as read, and as written in a snapshot.
constexpr std::size_t copies_of_thread = 2;

// A thread's active run in the form for a recording.
struct active_log {
    std::shared_ptr<event_log> log;
    session::node_index first_own_message = session::no_node;
    std::int64_t run_number = 0;
    std::uint64_t first_number = 0;
};

boost::asio::awaitable<result<std::optional<active_log>>>
find_active_log(run_core& core, const conversation_key& conversation) {
    if (const auto live = core.registry.active(conversation)) {
        const session::run_record& record = live->record();
        co_return active_log{
            live->log(), live->first_own_message(), record.number,
            session::first_number(record.run_id)
        };
    }
    const auto there = co_await find_elsewhere(core, conversation);
    if (!there) {
        co_return there.error();
    }
    if (!there->has_value() || (*there)->number == 0) {
        co_return std::optional<active_log>();
    }
    auto known = co_await find_run(core, conversation, (*there)->run_id);
    if (!known) {
        co_return known.error();
    }
    if (!known->has_value() || (*known)->place != run_place::elsewhere) {
        co_return std::optional<active_log>(); // It has just ended.
    }
    auto log = co_await followed_log(core, conversation, (*known)->record, (*there)->gateway);
    if (!log) {
        co_return log.error();
    }
    co_return active_log{
        std::move(*log), (*there)->first_own_message, (*there)->number,
        session::first_number((*there)->run_id)
    };
}

boost::asio::awaitable<bool>
is_still_active(run_core& core, const conversation_key& conversation, const active_log& seen) {
    if (const auto live = core.registry.active(conversation)) {
        co_return live->log() == seen.log;
    }
    const auto there = co_await find_elsewhere(core, conversation);
    co_return there && there->has_value() && (*there)->number == seen.run_number;
}

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

// The stored run with that id or, if it was continued under its id, its latest segment.
boost::asio::awaitable<result<std::optional<session::run_record>>>
latest_segment(session::store& store, thread_key key, std::string run_id) {
    auto latest = co_await store.find_run(key, run_id);
    for (std::uint32_t number = 2; latest && latest->has_value(); ++number) {
        auto next = co_await store.find_run(key, session::segment_id(run_id, number));
        if (!next) {
            co_return next.error();
        }
        if (!next->has_value()) {
            break;
        }
        latest = std::move(next);
    }
    co_return latest;
}

} // namespace

run_service::run_service(process_services services, run_settings settings)
    : core_(std::make_shared<run_core>(services, std::move(settings), go_on_elsewhere)),
      peers_(
          services.store.is_shared() ? std::make_unique<peer_link>(services.store, core_) : nullptr
      ) {}

run_service::~run_service() = default;

boost::asio::awaitable<result<accepted_run>> run_service::accept(requested_run what) {
    return accept_run(core_, std::move(what));
}

boost::asio::awaitable<result<void>> run_service::begin(accepted_run accepted) {
    return begin_run(std::move(accepted));
}

boost::asio::awaitable<result<run_service::attachment>>
run_service::attach(thread_key key, std::string run_id, std::uint64_t after) {
    const std::uint64_t before = after / session::segment_span;
    if (before >= UINT32_MAX) {
        co_return failure{errc::cursor_expired, "the run has no such event", "after", {}};
    }
    auto number = static_cast<std::uint32_t>(before + 1);
    auto attached = co_await attach_segment(
        key, session::segment_id(run_id, number), after % session::segment_span
    );
    if (!attached && attached.error().code == errc::not_found && number > 1) {
        const auto first = co_await find_any(*core_, key, run_id);
        if (first) {
            co_return failure{errc::cursor_expired, "the run has no such event", "after", {}};
        }
    }
    // A reader that has all of a segment goes on with the next one.
    while (attached && attached->log->ended() &&
           attached->after >= attached->log->visible_sequence()) {
        auto next = co_await attach_segment(key, session::segment_id(run_id, ++number), 0);
        if (!next && next.error().code == errc::not_found) {
            break;
        }
        attached = std::move(next);
    }
    co_return attached;
}

boost::asio::awaitable<result<run_service::attachment>>
run_service::attach_segment(thread_key key, std::string run_id, std::uint64_t after) {
    const std::shared_ptr<run_core> core = core_;
    // The log of the previous look. A new one would follow the run from its beginning again.
    std::shared_ptr<event_log> followed;
    std::int64_t followed_run = 0;
    for (;;) {
        auto run = co_await find_any(*core, key, run_id);
        if (!run) {
            co_return run.error();
        }
        const bool is_followed = followed && !followed->ended() && !run->known.log &&
                                 run->known.record.number == followed_run;
        result<std::shared_ptr<event_log>> log = followed;
        if (!is_followed) {
            log = co_await log_of(*core, run->conversation, run->known);
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
            co_return attachment{
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
        if (core->registry.draining()) {
            co_return failure{errc::draining, "the server is stopping", {}, {}};
        }
        // Waits here, not in the stream: if the run is lost, its end may reuse the number of an
        // event that the client has seen.
        co_await wait_briefly(*log, after);
        followed = std::move(*log);
        followed_run = record.number;
    }
}

boost::asio::awaitable<result<run_service::recording>>
run_service::history(std::string principal, const translator::run_input& input) {
    const std::shared_ptr<run_core> core = core_;
    const thread_key key{std::move(principal), input.thread_id};
    // A long conversation takes much memory for a short time.
    memory_share memory(core->services.memory);
    auto known = co_await core->services.store.summary(key);
    if (!known) {
        co_return known.error();
    }
    if (known->has_value() && !memory.grow_to(copies_of_thread * (*known)->bytes)) {
        co_return failure{
            errc::overloaded, "there is not enough memory for this conversation", {}, {}
        };
    }
    const conversation_key conversation{key, false};
    session::thread_record thread;
    std::optional<active_log> live;
    // The active run is looked up before and after the thread is read: if it is the same, the
    // thread holds all messages from before that run.
    for (;;) {
        if (input.forwarded.follow) {
            auto found = co_await find_active_log(*core, conversation);
            if (!found) {
                co_return found.error();
            }
            live = std::move(*found);
        }
        auto loaded = co_await core->services.store.load(key);
        if (!loaded) {
            co_return loaded.error();
        }
        if (!live || co_await is_still_active(*core, conversation, *live)) {
            thread = loaded->has_value() ? std::move(**loaded) : session::thread_record();
            break;
        }
    }
    auto form = core->translation_of(conversation, to_string(input.projection));
    const agent_entry* const agent = core->find_agent(thread.agent_id);
    form.legacy_interrupts = agent != nullptr && agent->legacy_interrupts;
    recording out;
    event_log::settings options;
    options.budget = core->services.memory;
    out.log = std::make_shared<event_log>(co_await boost::asio::this_coro::executor, options);
    write_history(
        thread, live ? live->first_own_message : session::no_node,
        core->settings.history.approval_life, {input.thread_id, input.run_id, input.parent_run_id},
        core->services.time.now(), std::move(form), *out.log
    );
    out.log->publish_end();
    if (out.log->outgrown(SIZE_MAX)) {
        co_return failure{
            errc::overloaded, "there is not enough memory for this conversation", {}, {}
        };
    }
    out.live = live ? live->log : nullptr;
    out.live_offset = live ? live->first_number : 0;
    co_return out;
}

boost::asio::awaitable<result<json_text>>
run_service::change_state(thread_key key, session::state_change change) {
    return change_state_here(core_, std::move(key), std::move(change));
}

boost::asio::awaitable<result<std::optional<steered_run>>>
run_service::steer(steering what, std::chrono::steady_clock::time_point give_up) {
    return gateway::steer(core_, std::move(what), give_up);
}

bool run_service::can_pass() const noexcept { return core_->services.peers != nullptr; }

boost::asio::awaitable<result<client_answer>>
run_service::pass(std::int64_t gateway, client_request request) {
    return core_->services.peers->pass(gateway, std::move(request));
}

boost::asio::awaitable<result<std::shared_ptr<event_log>>>
run_service::follow(thread_key key, std::string run_id, std::int64_t gateway) {
    const std::shared_ptr<run_core> core = core_;
    const conversation_key conversation{std::move(key), false};
    auto known = co_await find_run(*core, conversation, run_id);
    if (known && !known->has_value()) {
        known = co_await find_queued(*core, conversation, run_id);
    }
    if (!known) {
        co_return known.error();
    }
    if (!known->has_value()) {
        co_return failure{errc::not_found, "the thread has no run with this id", {}, {}};
    }
    if ((*known)->place == run_place::elsewhere) {
        (*known)->gateway = gateway;
    }
    co_return co_await log_of(*core, conversation, **known);
}

boost::asio::awaitable<std::shared_ptr<event_log>>
run_service::find_here(thread_key key, std::string run_id, std::int64_t run_number) {
    const std::shared_ptr<run_core> core = core_;
    const conversation_key conversation{std::move(key), false};
    // Locks the runId, because a run that is just beginning is neither active nor queued.
    const auto lock = co_await core->registry.lock_key(conversation, "run " + run_id);
    if (const auto live = core->registry.active(conversation);
        live && live->record().run_id == run_id) {
        const bool is_meant = run_number == 0 || live->record().number == run_number;
        co_return is_meant ? live->log() : nullptr;
    }
    const auto waiting = core->queue.find(conversation, run_id);
    co_return waiting ? waiting->log : nullptr;
}

boost::asio::awaitable<stopped_here> run_service::stop_here(
    thread_key key, std::optional<std::string> run_id, stop_wish wish,
    std::chrono::steady_clock::time_point asked
) {
    const std::shared_ptr<run_core> core = core_;
    conversation_key conversation{std::move(key), false};
    if (wish != stop_wish::cancelled) {
        const bool if_left = wish == stop_wish::superseded_if_left;
        co_return co_await supersede_here(
            core, std::move(conversation), std::move(run_id), if_left
        );
    }
    run_registry::stopping reached = core->registry.stop(conversation, run_id, asked);
    stopped_here met{reached.any(), false};
    met.stopped = co_await reached.wait();
    co_return met;
}

boost::asio::awaitable<result<bool>>
run_service::cancel(thread_key key, std::optional<std::string> run_id) {
    const std::shared_ptr<run_core> core = core_;
    const auto asked = std::chrono::steady_clock::now();
    check_failpoint("cancel.requested");
    const conversation_key conversations[] = {{key, false}, {key, true}};
    std::vector<run_registry::stopping> reached;
    for (const conversation_key& conversation : conversations) {
        reached.push_back(core->registry.stop(conversation, run_id, asked));
    }
    pass_failpoint("cancel.counted");
    bool any = false;
    bool stopped = false;
    for (run_registry::stopping& one : reached) {
        any = any || one.any();
        const bool by_stop = co_await one.wait();
        stopped = stopped || by_stop;
    }
    if (const auto there = co_await find_elsewhere(*core, conversations[0]);
        run_id && there && there->has_value() &&
        session::client_run_id((*there)->run_id) == *run_id) {
        run_id = (*there)->run_id; // The segment that runs.
    }
    // Requests stopped here may also wait for the thread in other processes.
    if (core->services.store.is_shared() && (!(stopped && run_id) || core->settings.queue)) {
        const auto there = co_await stop_elsewhere(*core, conversations[0], run_id, asked);
        if (!there) {
            co_return there.error();
        }
        any = any || there->any;
        stopped = stopped || there->stopped;
    }
    for (std::size_t i = 0; i < std::size(conversations) && !any; ++i) {
        session::store& store = core->store_of(conversations[i]);
        const auto latest = co_await (
            run_id ? latest_segment(store, conversations[i].thread, *run_id)
                   : store.latest_run(conversations[i].thread)
        );
        if (!latest) {
            co_return latest.error();
        }
        any = latest->has_value();
        stopped = any && (*latest)->status == session::run_status::cancelled;
    }
    for (const conversation_key& conversation : conversations) {
        if (run_id && any) {
            core->registry.forget_early_stop(conversation, *run_id);
        }
    }
    co_return stopped;
}

boost::asio::awaitable<result<session::run_record>>
run_service::wait_for_end(thread_key key, std::string run_id) {
    const std::shared_ptr<run_core> core = core_;
    for (const bool ephemeral : {false, true}) {
        const conversation_key conversation{key, ephemeral};
        if (const auto waiting = core->queue.find(conversation, run_id)) {
            co_await waiting->over.wait();
        }
        std::shared_ptr<live_run> run;
        {
            // With the runId locked, because a run that is just beginning may be in the store, but
            // not active.
            const auto lock = co_await core->registry.lock_key(conversation, "run " + run_id);
            run = core->registry.active(conversation);
        }
        if (run && run->record().run_id == run_id) {
            co_await run->ended().wait();
        }
        session::store& store = core->store_of(conversation);
        auto found = co_await (
            store.is_shared() ? wait_for_end_elsewhere(*core, conversation, run_id)
                              : store.find_run(key, run_id)
        );
        if (!found) {
            co_return found.error();
        }
        if (!found->has_value()) {
            continue;
        }
        if ((*found)->status == session::run_status::active) {
            co_return failure{
                errc::store_unavailable, "the end of this run could not be stored", {}, {}
            };
        }
        co_return std::move(**found);
    }
    co_return failure{errc::not_found, "the thread has no run with this id", {}, {}};
}

boost::asio::awaitable<void> run_service::recover() {
    const std::shared_ptr<run_core> core = core_;
    (void)co_await core->orphans.recover_all();
    co_await pick_up_queued(core);
}

void run_service::begin_drain() {
    core_->registry.begin_drain();
    core_->titles.stop();
}

boost::asio::awaitable<void> run_service::drain(std::chrono::steady_clock::time_point deadline) {
    const std::shared_ptr<run_core> core = core_;
    begin_drain();
    pass_failpoint("drain.begun");
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, deadline);
    timer.async_wait([core](boost::system::error_code ec) {
        if (!ec) {
            for (const auto& run : core->registry.begin_stop()) {
                run->stop(stop_reason::shutdown);
            }
        }
    });
    co_await core->registry.wait_until_empty();
    pass_failpoint("drain.runs_ended");
    timer.cancel();
}

bool run_service::draining() const { return core_->registry.draining(); }

std::vector<run_service::active_run> run_service::active_runs() const {
    std::vector<active_run> all;
    for (const std::shared_ptr<live_run>& run : core_->registry.active_runs()) {
        const session::run_record& record = run->record();
        all.push_back({
            .thread = run->key(),
            .ephemeral = run->conversation().ephemeral,
            .run_id = std::string(session::client_run_id(record.run_id)),
            .agent_id = record.agent_id,
            .started_at = record.started_at,
            .readers = run->log()->reader_count(),
        });
    }
    std::ranges::sort(all, {}, [](const active_run& run) {
        return std::tie(run.started_at, run.run_id);
    });
    return all;
}

} // namespace agui::gateway
