#include "runner/loop/subagent_runs.hpp"

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/agent_tool.hpp"
#include "runner/loop/delegation.hpp"
#include "runner/loop/subagent_sink.hpp"
#include "session/base/as_result.hpp"
#include "session/history/subagent.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace agui::runner {

using session::call_record;
using session::call_status;

namespace {

// The thread in memory, and the subagent's part of it.
constexpr std::size_t copies_of_thread = 2;
constexpr std::size_t uncounted_thread_bytes = 64U << 10U;

tool_outcome not_begun(std::string_view why) {
    return {
        .what = tool_outcome::kind::error,
        .content = std::string(why),
        .log_detail = std::string(why)
    };
}

session::next_step next_of(const session::thread_record& thread) {
    const auto any = [&thread](call_status status) {
        return std::ranges::find(thread.calls, status, &call_record::status) != thread.calls.end();
    };
    if (any(call_status::asked)) {
        return session::next_step::wait_for_approval;
    }
    return any(call_status::pending) ? session::next_step::wait_for_answers
                                     : session::next_step::call_model;
}

std::string task_of(const tool_invocation& call) {
    const boost::json::value* const task = call.arguments.if_contains(task_argument);
    const boost::json::string* const text = task == nullptr ? nullptr : task->if_string();
    return text == nullptr ? std::string() : std::string(*text);
}

// Why the subagent has ended; an end without its work counts as an error.
stop_reason reason_of(const subagent_sink& sink) noexcept {
    const stop_reason reason = sink.end() ? sink.end()->reason : stop_reason::error;
    const bool is_known = class_of(reason) != stop_class::success || is_suspended(reason);
    return is_known || reason == stop_reason::completed ? reason : stop_reason::error;
}

class working_mark {
public:
    working_mark(std::vector<stop_source*>& all, stop_source& own) : all_(all), own_(own) {
        all_.push_back(&own_);
    }
    ~working_mark() { std::erase(all_, &own_); }
    working_mark(const working_mark&) = delete;
    working_mark& operator=(const working_mark&) = delete;

private:
    std::vector<stop_source*>& all_;
    stop_source& own_;
};

} // namespace

// Counts a call, so that the run's end waits for it.
class subagent_runs::presence {
public:
    explicit presence(subagent_runs& whose) : of_(whose) { ++of_.present_; }
    ~presence() {
        if (--of_.present_ == 0 && of_.all_ended_) {
            of_.all_ended_->cancel();
        }
    }
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;

private:
    subagent_runs& of_;
};

std::shared_ptr<const registered_tool>
subagent_runs::bind(const std::string& name, const std::shared_ptr<const registered_tool>& tool) {
    const auto known = run_.request.agent.agents.find(name);
    if (known == run_.request.agent.agents.end()) {
        return tool;
    }
    auto bound = std::make_shared<registered_tool>(*tool);
    bound->function = [self = shared_from_this(), agent = known->second](tool_invocation call) {
        return self->run(agent, std::move(call));
    };
    return bound;
}

boost::asio::awaitable<void> subagent_runs::end_all(stop_reason reason) {
    is_over_ = true;
    for (stop_source* const each : working_) {
        (void)each->request(reason);
    }
    while (present_ > 0) {
        if (!all_ended_) {
            all_ended_ = std::make_unique<boost::asio::steady_timer>(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
        }
        co_await all_ended_->async_wait(as_result);
    }
}

boost::asio::awaitable<tool_outcome>
subagent_runs::run(std::shared_ptr<const called_agent> agent, tool_invocation call) {
    if (is_over_) {
        co_return not_begun("The run has ended.");
    }
    const presence here(*this);
    // Stopped by its stop_source alone: a cancelled wait could lose what it has to store.
    co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
    if (run_.within->begun == subagent_runs_max) {
        co_return not_begun("No further agent can be called in this run.");
    }
    ++run_.within->begun;
    const std::uint64_t bytes = run_.within->thread.bytes();
    memory_share memory(run_.services.memory);
    if (bytes > uncounted_thread_bytes && !memory.grow_to(copies_of_thread * bytes)) {
        co_return not_begun("The server has not enough memory for the agent at the moment.");
    }
    auto thread = co_await run_.within->sink.load_thread();
    if (!thread) {
        co_return not_begun("The conversation could not be read.");
    }
    co_return co_await work(*agent, call, std::move(*thread), std::move(memory));
}

boost::asio::awaitable<tool_outcome> subagent_runs::work(
    const called_agent& agent, const tool_invocation& call, session::thread_record thread,
    memory_share memory
) {
    const call_record* const record = thread.find_call(call.call_id);
    if (record == nullptr || record->made_in >= thread.nodes.size() ||
        thread.head >= thread.branches.size()) {
        co_return not_begun("The call is not in the conversation.");
    }
    const std::string message_id = thread.nodes[record->made_in].message.id;
    std::string instructions = agent.settings.instructions;
    if (agent.instructions) {
        instructions = agent.instructions(thread, thread.nodes[record->made_in].created_at);
    }
    std::string task = task_of(call);
    session::thread_record own =
        session::subagent_thread(thread, thread.branches[thread.head].tip, call.call_id, task);
    thread = {};
    memory.shrink_to(0); // The conversation counts its own part.
    if (own.nodes.size() == 1 && is_edited(call.call_id)) {
        branch_growth growing = run_.within->thread.growth();
        session::message first = own.nodes[0].message;
        first.subagent_run_id = session::subagent_run_id(call.call_id);
        run_.within->thread.append(growing, std::move(first));
        (void)co_await run_.within->thread.commit(run_.within->thread.take(std::move(growing)));
    }
    subagent_sink sink(*run_.within, run_.stop, call.call_id, std::move(task), own.nodes.size());
    run_sink& shown = run_.within->sink;
    shown.emit(subagent_started{
        sink.id(), agent.settings.id, agent.description, run_.request.subagent_run_id, call.call_id,
        message_id
    });
    stop_source stop(co_await boost::asio::this_coro::executor);
    stop.follow(run_.stop);
    const working_mark mark(working_, stop);
    run_request request = request_for(agent, std::move(own));
    request.agent.instructions = std::move(instructions);
    request.subagent_run_id = sink.id();
    loop_services services{
        *agent.model,
        run_.services.tools,
        run_.services.ids,
        run_.services.time,
        run_.services.log,
        run_.services.max_result_bytes,
        run_.services.max_thread_bytes,
        run_.services.plugins,
        run_.services.memory,
        run_.services.heavy,
        nullptr // It compares requests of the thread's own conversation.
    };
    co_await run_agent(std::move(request), services, sink, stop);
    const stop_reason reason = reason_of(sink);
    if (sink.end()) {
        for (const token_usage& each : sink.end()->usage) {
            add_usage(run_.within->usage, each);
        }
    }
    using outcome = subagent_ended::outcome;
    if (is_suspended(reason)) {
        shown.emit(subagent_ended{sink.id(), outcome::suspended});
        co_return tool_outcome{tool_outcome::kind::suspended, std::string()};
    }
    if (reason == stop_reason::completed) {
        shown.emit(subagent_ended{sink.id(), outcome::finished, sink.last_text()});
        co_return tool_outcome{.content = sink.last_text()};
    }
    shown.emit(subagent_ended{sink.id(), outcome::failed, {}, describe(reason), error_code(reason)}
    );
    co_return tool_outcome{
        .what = tool_outcome::kind::error,
        .content = "The agent did not finish its task. " + std::string(describe(reason)),
        .log_detail = std::string(error_code(reason))
    };
}

// A person has given the call another task than the stored call has.
bool subagent_runs::is_edited(const std::string& call_id) const {
    return std::ranges::any_of(
        run_.request.approved, [&call_id](const session::approved_call& each
                               ) { return each.call_id == call_id && each.arguments; }
    );
}

run_request
subagent_runs::request_for(const called_agent& agent, session::thread_record thread) const {
    run_request request;
    request.key = run_.request.key;
    request.run_id = run_.request.run_id;
    request.address = run_.request.address;
    request.agent = agent.settings;
    request.next = next_of(thread);
    request.new_user_turn = thread.nodes.size() == 1;
    for (const session::approved_call& each : run_.within->approved) {
        const call_record* const call = thread.find_call(each.call_id);
        if (call != nullptr && call->status == call_status::approved) {
            request.approved.push_back(each);
        }
    }
    request.approval_life = run_.request.approval_life;
    request.fallbacks = agent.fallbacks;
    for (const tool_definition& tool : run_.tools.with_late()) {
        if (run_.tools.owner_of(tool.name) == session::call_owner::external) {
            request.external_tools.push_back(tool);
        }
    }
    request.sender = run_.request.sender;
    request.headers = run_.request.headers;
    request.within = run_.within;
    request.thread = std::make_shared<const session::thread_record>(std::move(thread));
    return request;
}

} // namespace agui::runner
