#include "runner/loop/tool_round.hpp"

#include "runner/loop/run_hooks.hpp"
#include "runner/loop/subagent_runs.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace agui::runner {

using session::call_owner;
using session::call_record;
using session::call_status;

namespace {

// Cancels a batch when the scope is left in any way. A finished batch is not affected.
class batch_end {
public:
    explicit batch_end(tool_batch& batch) noexcept : batch_(batch) {}
    ~batch_end() { batch_.cancel(); }
    batch_end(const batch_end&) = delete;
    batch_end& operator=(const batch_end&) = delete;

private:
    tool_batch& batch_;
};

} // namespace

// Subagents use the run, so nothing may end it while one of them is working.
boost::asio::awaitable<std::optional<stop_reason>> tool_round::execute() {
    if (run_.subagents == nullptr) {
        co_return co_await execute_batch();
    }
    std::optional<stop_reason> ended;
    std::exception_ptr thrown;
    try {
        ended = co_await execute_batch();
    } catch (...) { // It is thrown again.
        thrown = std::current_exception();
    }
    if (ended || thrown) {
        co_await run_.subagents->end_all(ended.value_or(stop_reason::error));
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    co_return ended;
}

boost::asio::awaitable<std::optional<stop_reason>> tool_round::execute_batch() {
    const std::vector<session::tool_call>& calls = run_.thread.calls_to_execute();
    if (calls.empty()) {
        // The records name a call that no message holds. Another round would find the same,
        // endlessly.
        run_.services.log.log(
            log_level::error, "a call cannot be executed: it is not in its message",
            {{"run", session::client_run_id(run_.request.run_id)}}
        );
        co_return stop_reason::error;
    }
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto batch = std::make_shared<tool_batch>(
        executor, run_.stop, run_.request.agent.max_parallel_tools, run_.services.max_result_bytes,
        run_.services.log, run_.services.memory
    );
    // Stops the batch however this function is left, even by a result that cannot be shown or
    // stored.
    const batch_end end(*batch);
    for (const session::tool_call& call : calls) {
        batch->add(tool_of(call.name), invocation(call), executor_of(call.name));
    }
    for (const session::tool_call& call : calls) {
        run_.sink.emit(call_executing{call.id, call.name});
    }
    has_started_ = false;
    const bool ready = co_await store_start();
    if (!ready) {
        co_return stop_reason::store_unavailable;
    }
    if (run_.stop.requested()) {
        co_return run_.stop.reason();
    }
    has_started_ = true;
    batch->start();
    while (!batch->done()) {
        const bool stopped = co_await wait_for(*batch);
        if (stopped) {
            // Stores finished results even if they wait for the result of an earlier call.
            std::vector<tool_batch::finished> rest = batch->take_rest();
            if (!rest.empty() && co_await store_results(rest) == stop_reason::store_unavailable) {
                co_return stop_reason::store_unavailable;
            }
            co_return run_.stop.reason();
        }
        std::vector<tool_batch::finished> finished = batch->take_finished();
        if (finished.empty()) {
            continue;
        }
        check_failpoint("loop.tools_finished");
        const std::optional<stop_reason> failed = co_await store_results(finished);
        check_failpoint("loop.results_stored");
        if (failed) {
            co_return failed;
        }
    }
    co_return std::nullopt;
}

// Stores that tools which a person approved may be started from now on: after a crash, no other run
// starts them again. Returns false if that could not be stored.
boost::asio::awaitable<bool> tool_round::store_start() {
    session::changes change;
    for (const call_record& call : run_.thread.open_calls()) {
        if (call.status == call_status::approved) {
            conversation::set_status(change, call, call_status::executing);
        }
    }
    if (change.calls.empty() || run_.stop.requested()) {
        co_return true;
    }
    check_failpoint("loop.approved");
    const auto stored = co_await run_.thread.commit(std::move(change));
    check_failpoint("loop.executing");
    co_return stored.has_value();
}

// Returns true if the run was stopped in the meantime.
boost::asio::awaitable<bool> tool_round::wait_for(tool_batch& batch) {
    if (run_.stop.requested()) {
        co_return true;
    }
    run_.stop.slot().assign([&batch](boost::asio::cancellation_type) { batch.wake(); });
    co_await batch.wait();
    run_.stop.slot().clear();
    co_return run_.stop.requested();
}

boost::asio::awaitable<std::optional<stop_reason>>
tool_round::store_results(std::vector<tool_batch::finished>& finished) {
    for (tool_batch::finished& one : finished) {
        co_await carry_out(one.outcome);
    }
    branch_growth growing = run_.thread.growth();
    std::vector<session::message> results;
    for (tool_batch::finished& one : finished) {
        if (one.outcome.what == tool_outcome::kind::suspended) {
            run_.thread.suspend(one.call_id);
        } else if (one.outcome.what == tool_outcome::kind::input) {
            keep_question(growing, one);
        } else if (one.outcome.what == tool_outcome::kind::external) {
            call_record changed = run_.thread.own_call(one.call_id);
            changed.owner = call_owner::external;
            changed.status = call_status::open;
            growing.change.calls.push_back(std::move(changed));
        } else {
            results.push_back(result_message(one));
        }
    }
    std::optional<stop_reason> ended;
    std::vector<session::message> others;
    if (run_.hooks != nullptr) {
        ended = co_await run_.hooks->append_results(results, others);
    }
    for (const session::message& result : results) {
        const call_record& call = run_.thread.own_call(result.tool_call_id);
        conversation::set_status(growing.change, call, call_status::answered);
        run_.thread.append(growing, result);
        run_.thread.add_event(
            growing.change, "tool.response",
            {{"toolCallId", result.tool_call_id}, {"messageId", result.id}}
        );
    }
    for (session::message& other : others) {
        (void)run_.hooks->add_following(growing, other);
    }
    if (growing.change.messages.empty() && growing.change.calls.empty()) {
        co_return ended; // Only subagents that wait.
    }
    const auto stored = co_await run_.thread.commit(run_.thread.take(std::move(growing)));
    if (!stored) {
        co_return stop_reason::store_unavailable;
    }
    for (const session::message& result : results) {
        run_.sink.emit(
            call_result{result.id, result.tool_call_id, &result.content, result.error.has_value()}
        );
    }
    co_return ended;
}

// The question and the status are stored together, so that no crash separates them.
void tool_round::keep_question(branch_growth& growing, const tool_batch::finished& one) const {
    const session::approved_call* const approval = approval_of(one.call_id);
    session::earlier_approval earlier;
    if (approval != nullptr && approval->inputs.empty()) {
        earlier = {approval->digest, approval->arguments};
    }
    run_.thread.append(
        growing,
        session::question_note(
            run_.thread.last_id(growing.change), one.call_id, *one.outcome.question, earlier
        )
    );
    conversation::set_status(growing.change, run_.thread.own_call(one.call_id), call_status::held);
}

// The tool has done its work, so the model gets its result even if the state was not changed.
boost::asio::awaitable<void> tool_round::carry_out(tool_outcome& outcome) {
    if (outcome.effects == nullptr) {
        co_return;
    }
    const std::shared_ptr<const tool_effects> effects = std::move(outcome.effects);
    if (effects->state) {
        const result<void> done = co_await run_.context->change_state(*effects->state);
        if (!done) {
            run_.services.log.log(
                log_level::warning, "a tool's change of the state was refused",
                {{"run", session::client_run_id(run_.request.run_id)},
                 {"reason", to_string(done.error().code)},
                 {"path", done.error().path}}
            );
            prepend(
                outcome.content,
                "[The application's state was not changed: " + done.error().detail + "]\n"
            );
        }
    }
    for (const activity& each : effects->activities) {
        if (const auto shown = run_.context->show_activity(each); !shown) {
            run_.services.log.log(
                log_level::warning, "an activity of a tool was refused",
                {{"run", session::client_run_id(run_.request.run_id)},
                 {"reason", shown.error().detail}}
            );
        }
    }
    for (const auto& [name, value] : effects->customs) {
        run_.context->send_custom(name, value);
    }
}

session::message tool_round::result_message(tool_batch::finished& one) {
    session::message result;
    result.id = run_.services.ids.next("msg");
    result.role = session::role::tool;
    result.tool_call_id = one.call_id;
    if (const auto warning = warnings_.extract(one.call_id)) {
        prepend(one.outcome.content, warning.mapped());
    }
    if (one.outcome.what == tool_outcome::kind::error) {
        result.error = session::text_of(one.outcome.content);
    }
    if (const session::approved_call* const approval = approval_of(one.call_id)) {
        result.approval_answer = approval->digest;
        if (approval->arguments) {
            // The conversation holds the model's own arguments.
            one.outcome.shown = one.outcome.shown ? *one.outcome.shown : one.outcome.content;
            prepend(
                one.outcome.content,
                "[A person changed the arguments of this call to " + *approval->arguments + "]"
            );
        }
    }
    if (one.outcome.shown) {
        result.for_model = std::make_shared<const session::content>(std::move(one.outcome.content));
        result.content = *std::move(one.outcome.shown);
    } else {
        result.content = std::move(one.outcome.content);
    }
    return result;
}

const session::approved_call* tool_round::approval_of(std::string_view call_id) const {
    const std::vector<session::approved_call>& approved = run_.request.approved;
    const auto found = std::ranges::find(approved, call_id, &session::approved_call::call_id);
    return found == approved.end() ? nullptr : &*found;
}

bool tool_round::needs_approval(const session::tool_call& call) const {
    const auto tool = tool_of(call.name);
    if (tool == nullptr && executor_of(call.name) == nullptr) {
        return false;
    }
    static const tool_options none;
    const tool_options& options = tool == nullptr ? none : tool->options;
    const approval_rule rule = std::max(run_.request.agent.approval, options.approval);
    if (rule == approval_rule::never && !options.needs_approval) {
        return false;
    }
    std::optional<boost::json::object> arguments = arguments_of(call.arguments);
    check_budget budget;
    if (!arguments ||
        (tool != nullptr && tool->schema != nullptr && tool->schema->fit(*arguments, budget))) {
        return false;
    }
    if (rule == approval_rule::always ||
        (rule == approval_rule::destructive && options.destructive)) {
        return true;
    }
    if (!options.needs_approval) {
        return false;
    }
    try {
        tool_invocation asked = invocation(call);
        asked.arguments = *std::move(arguments);
        return options.needs_approval(asked);
    } catch (const std::exception& error) {
        run_.services.log.log(
            log_level::error, "the approval of a call could not be decided, so it is needed",
            {{"run", session::client_run_id(run_.request.run_id)},
             {"tool", call.name},
             {"detail", error.what()}}
        );
        return true;
    }
}

bool tool_round::is_of_plugins(const std::string& name) const noexcept {
    return run_.hooks != nullptr && run_.hooks->changed_tool(name);
}

std::shared_ptr<const registered_tool> tool_round::tool_of(const std::string& name) const {
    if (is_of_plugins(name)) {
        return nullptr;
    }
    std::shared_ptr<const registered_tool> tool = run_.tools.tool_of(name);
    return tool == nullptr || run_.subagents == nullptr ? tool : run_.subagents->bind(name, tool);
}

std::shared_ptr<const tool_function> tool_round::executor_of(const std::string& name) const {
    if (is_of_plugins(name)) {
        return run_.hooks->function_of(name);
    }
    const auto& executors = run_.request.agent.executors;
    if (executors == nullptr) {
        return nullptr;
    }
    const auto found = executors->find(name);
    return {executors, found == executors->end() ? nullptr : &found->second};
}

tool_invocation tool_round::invocation(const session::tool_call& call) const {
    tool_invocation made;
    made.name = call.name;
    const session::approved_call* const approval = approval_of(call.id);
    made.arguments_text =
        approval != nullptr && approval->arguments ? *approval->arguments : call.arguments;
    made.call_id = call.id;
    made.thread_id = run_.request.key.thread_id;
    made.run_id = session::client_run_id(run_.request.run_id);
    made.agent_id = run_.request.agent.id;
    made.principal = run_.request.key.principal;
    made.sender = run_.request.sender;
    made.headers = run_.request.headers;
    made.run = run_.context;
    if (approval != nullptr) {
        made.inputs = approval->inputs;
    }
    return made;
}

} // namespace agui::runner
