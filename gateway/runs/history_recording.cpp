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

} // namespace

boost::asio::awaitable<result<history_recording>> record_history(
    std::shared_ptr<run_core> core, std::string principal, const translator::run_input& input
) {
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
