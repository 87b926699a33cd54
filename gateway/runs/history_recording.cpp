#include "gateway/runs/history_recording.hpp"

#include "gateway/log/thread_recording.hpp"
#include "gateway/replay/followed_run.hpp"
#include "gateway/replay/run_locator.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/run_registry.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/this_coro.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace agui::gateway {

namespace {

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

struct seen_thread {
    session::thread_record thread;
    std::optional<active_log> live;
};

boost::asio::awaitable<result<seen_thread>>
load_thread(run_core& core, const conversation_key& conversation) {
    auto loaded = co_await core.services.store.load(conversation.thread);
    if (!loaded) {
        co_return loaded.error();
    }
    co_return seen_thread{
        loaded->has_value() ? std::move(**loaded) : session::thread_record(), std::nullopt
    };
}

// True if the run is in no process and recovery has not ended it: nobody can follow it.
boost::asio::awaitable<result<bool>>
is_lost(run_core& core, const conversation_key& conversation, const std::string& run_id) {
    // Locks the runId, because the run may be stored but not active while it is just beginning.
    const auto lock = co_await core.registry.lock_key(conversation, "run " + run_id);
    const auto known = co_await find_run(core, conversation, run_id);
    if (!known) {
        co_return known.error();
    }
    co_return known->has_value() && (*known)->place == run_place::lost;
}

// True if the thread had no active run at both times, and none in between.
bool was_idle(
    const std::optional<session::run_record>& before,
    const std::optional<session::run_record>& after
) {
    if (!before || !after) {
        return !before && !after;
    }
    return before->number == after->number && before->status != session::run_status::active;
}

// A thread is read again if a run begins or ends meanwhile, but not without end.
constexpr int reads_max = 10;

// The thread, and its active run, from before which it holds all messages.
boost::asio::awaitable<result<seen_thread>>
load_with_active_run(run_core& core, const conversation_key& conversation) {
    session::store& store = core.services.store;
    auto before = co_await store.latest_run(conversation.thread);
    for (int reads = 1; before; ++reads) {
        auto live = co_await find_active_log(core, conversation);
        if (!live) {
            co_return live.error();
        }
        auto seen = co_await load_thread(core, conversation);
        if (!seen) {
            co_return seen.error();
        }
        seen->live = std::move(*live);
        if (seen->live) {
            if (co_await is_still_active(core, conversation, *seen->live)) {
                co_return std::move(*seen);
            }
            seen->live.reset();
        }
        auto after = co_await store.latest_run(conversation.thread);
        if (!after) {
            co_return after.error();
        }
        result<bool> is_final = reads == reads_max || was_idle(*before, *after);
        if (*after && (*after)->status == session::run_status::active && !*is_final) {
            is_final = co_await is_lost(core, conversation, (*after)->run_id);
        }
        if (!is_final) {
            co_return is_final.error();
        }
        if (*is_final) {
            co_return std::move(*seen);
        }
        before = std::move(after);
    }
    co_return before.error();
}

} // namespace

boost::asio::awaitable<result<history_recording>> record_history(
    std::shared_ptr<run_core> core, thread_key key, const translator::run_input& input,
    thread_key links
) {
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
    auto seen = co_await (
        input.forwarded.follow ? load_with_active_run(*core, conversation)
                               : load_thread(*core, conversation)
    );
    if (!seen) {
        co_return seen.error();
    }
    const session::thread_record& thread = seen->thread;
    const std::optional<active_log>& live = seen->live;
    auto form = core->translation_of({std::move(links), false}, to_string(input.projection));
    const agent_entry* const agent = core->find_agent(thread.agent_id);
    form.legacy_interrupts = agent != nullptr && agent->legacy_interrupts;
    history_recording out;
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

} // namespace agui::gateway
