#include "gateway/replay/answered_run.hpp"

#include "gateway/replay/run_locator.hpp"
#include "gateway/run/live_run.hpp"
#include "gateway/run/polling.hpp"
#include "gateway/run/taken_messages.hpp"
#include "session/base/failpoint.hpp"
#include "session/base/pause.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/shown_messages.hpp"
#include "translator/agui/projected_events.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {

namespace {

using session::node_index;

// Copies of a thread's text in memory: as read, and as written in a snapshot.
constexpr std::size_t copies_of_thread = 2;

// The conversation up to the last message of the run, cut before the first message with a call
// without its result.
std::vector<session::message>
conversation_after(const session::thread_record& thread, const std::string& run_id) {
    node_index last = session::no_node;
    for (std::size_t i = 0; i < thread.nodes.size(); ++i) {
        if (thread.nodes[i].run_id == run_id) {
            last = static_cast<node_index>(i);
        }
    }
    const node_index end =
        last == session::no_node ? last : last + 1; // Later results are not shown.
    std::vector<session::message> messages = session::shown_messages(thread, last, end);
    std::set<std::string, std::less<>> answered;
    for (const session::message& each : messages) {
        if (each.role == session::role::tool) {
            answered.insert(each.tool_call_id);
        }
    }
    const auto open = std::ranges::find_if(messages, [&](const session::message& each) {
        return std::ranges::any_of(each.tool_calls, [&](const session::tool_call& call) {
            return !answered.contains(call.id);
        });
    });
    messages.erase(open, messages.end());
    return messages;
}

} // namespace

boost::asio::awaitable<result<void>> write_answered_end(
    run_core& core, const conversation_key& conversation, const std::string& answered_by,
    translator::agui_translator& writer
) {
    session::store& store = core.store_of(conversation);
    check_failpoint("queue.answered");
    auto run = co_await store.find_run(conversation.thread, answered_by);
    if (!run) {
        co_return run.error();
    }
    if (!run->has_value()) {
        co_return failure{
            errc::run_expired, "the run that answered this message is no longer stored", {}, {}
        };
    }
    const session::run_record& answer = **run;
    if (answer.status == session::run_status::active) {
        co_return failure{errc::store_unavailable, "the run is ending: try again", {}, {}};
    }
    writer.set_time(answer.ended_at);
    if (answer.status != session::run_status::finished) {
        runner::run_end end;
        end.reason = runner::stop_reason_of(answer.end_reason);
        writer.finish(end);
        co_return result<void>();
    }
    // A long conversation takes much memory for a short time, and many may be written at once.
    memory_share memory(core.services.memory);
    const auto summary = co_await store.summary(conversation.thread);
    if (!summary) {
        co_return summary.error();
    }
    if (summary->has_value() && !memory.grow_to(copies_of_thread * (*summary)->bytes)) {
        co_return failure{
            errc::overloaded, "there is not enough memory for this conversation", {}, {}
        };
    }
    const auto thread = co_await store.load(conversation.thread);
    if (!thread) {
        co_return thread.error();
    }
    if (!thread->has_value()) {
        co_return failure{errc::run_expired, "the conversation is no longer stored", {}, {}};
    }
    const std::vector<session::message> messages = conversation_after(**thread, answered_by);
    writer.translate(runner::messages_snapshot{&messages});
    writer.finish({});
    co_return result<void>();
}

boost::asio::awaitable<result<void>> write_taken_end(
    run_core& core, const conversation_key& conversation, const session::run_record& request,
    translator::agui_translator& writer
) {
    const auto taken = co_await find_taken(
        core.store_of(conversation), conversation.thread,
        [id = request.run_id](const taken_message& each) { return each.request_run_id == id; }
    );
    if (!taken) {
        co_return taken.error();
    }
    std::vector<std::string> ids;
    std::uint64_t sequence = 0;
    for (const taken_message& each : *taken) {
        ids.push_back(each.message_id);
        sequence = each.sequence;
    }
    writer.set_time(request.ended_at);
    writer.taken(
        session::client_run_id(request.answered_by), ids,
        session::first_number(request.answered_by) + sequence
    );
    writer.finish({});
    co_return result<void>();
}

std::vector<std::string> end_unstored(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    event_log& log, const std::function<void(translator::agui_translator&)>& write
) {
    using translator::projection;
    translator::projected_events events(
        translator::projection_from_string(run.protocol).value_or(projection::undeclared)
    );
    translator::agui_translator writer(events, core.translation_of(conversation, run.protocol));
    writer.set_time(core.services.time.now());
    writer.resume({conversation.thread.thread_id, run.run_id, run.parent_run_id}, {});
    write(writer);
    std::vector<std::string> last = events.take();
    (void)log.freeze();
    log.end_without_store(last);
    return last;
}

namespace {

bool may_be_asked_again(run_core& core, const conversation_key& conversation, const failure& why) {
    return why.code == errc::store_unavailable && core.store_of(conversation).is_shared();
}

// Returns true if the log is ended, and false if the answering run is not over or the store fails.
boost::asio::awaitable<bool> end_once(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    event_log& log
) {
    if (core.store_of(conversation).is_shared()) {
        const auto answer = co_await find_run(core, conversation, run.answered_by);
        if (!answer || (*answer && (*answer)->place == run_place::elsewhere)) {
            co_return false;
        }
    }
    translator::agui_translator writer(log, core.translation_of(conversation, run.protocol));
    writer.resume({conversation.thread.thread_id, run.run_id, run.parent_run_id}, {});
    const auto written = co_await write_answered_end(core, conversation, run.answered_by, writer);
    if (written) {
        log.publish_end();
        co_return true;
    }
    if (may_be_asked_again(core, conversation, written.error())) {
        co_return false;
    }
    if (written.error().code == errc::overloaded) {
        log.cut_off_readers();
        co_return true;
    }
    end_unstored(core, conversation, run, log, [&](translator::agui_translator& other) {
        other.fail(to_string(written.error().code), written.error().detail);
    });
    co_return true;
}

// Retries until the log is ended or released by its last holder.
boost::asio::awaitable<void> end_later(
    std::shared_ptr<run_core> core, conversation_key conversation, std::shared_ptr<live_run> active,
    std::weak_ptr<event_log> answered, session::run_record run
) {
    if (active) {
        co_await active->ended().wait();
        active.reset();
    }
    for (;;) {
        if (const auto log = answered.lock();
            !log || co_await end_once(*core, conversation, run, *log)) {
            co_return;
        }
        co_await pause(poll_period);
    }
}

} // namespace

boost::asio::awaitable<result<std::shared_ptr<event_log>>>
answered_log(run_core& core, const conversation_key& conversation, const session::run_record& run) {
    const auto executor = co_await boost::asio::this_coro::executor;
    event_log::settings options;
    options.budget = core.services.memory;
    auto log = std::make_shared<event_log>(executor, options);
    translator::agui_translator writer(*log, core.translation_of(conversation, run.protocol));
    writer.set_time(run.started_at);
    writer.start({conversation.thread.thread_id, run.run_id, run.parent_run_id});
    const bool is_taken = run.end_reason == taken_while_active;
    auto active = is_taken ? nullptr : core.registry.active(conversation);
    if (active && active->record().run_id != run.answered_by) {
        active.reset();
    }
    bool is_elsewhere = false;
    if (!active && !is_taken && core.store_of(conversation).is_shared()) {
        const auto answer = co_await find_run(core, conversation, run.answered_by);
        is_elsewhere = answer && *answer && (*answer)->place == run_place::elsewhere;
    }
    if (active || is_elsewhere) {
        boost::asio::co_spawn(
            executor, end_later(core.shared_from_this(), conversation, std::move(active), log, run),
            [left = std::weak_ptr(log)](const std::exception_ptr& thrown) {
                if (const auto log = left.lock(); thrown && log) {
                    log->cut_off_readers();
                }
            }
        );
        co_return log;
    }
    result<void> written;
    if (is_taken) {
        written = co_await write_taken_end(core, conversation, run, writer);
    } else {
        written = co_await write_answered_end(core, conversation, run.answered_by, writer);
    }
    if (!written) {
        co_return written.error();
    }
    log->publish_end();
    if (log->outgrown(SIZE_MAX)) {
        co_return failure{
            errc::overloaded, "there is not enough memory for the events of this run", {}, {}
        };
    }
    co_return log;
}

} // namespace agui::gateway
