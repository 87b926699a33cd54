#include "runner/loop/hooked_run.hpp"

#include "session/conversation/run_segment.hpp"
#include "session/conversation/thread.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace agui::runner {

using session::call_record;
using session::call_status;

hooked_run::hooked_run(
    run_request request, loop_services services, run_sink& sink, stop_source& stop,
    memory_share memory
)
    : agent_run(std::move(request), services, sink, stop, std::move(memory)) {
    hooks_ = std::make_unique<run_hooks>(parts(), *services.plugins);
}

boost::asio::awaitable<stop_reason> hooked_run::run() {
    turn_hooks& hooks = hooks_->turn();
    std::optional<stop_reason> ended = co_await hooks.start();
    if (!ended) {
        const stop_reason reason = co_await run_turn();
        ended = reason;
        const bool shut_down = stop_.requested() && reason == stop_reason::shutdown;
        if (class_of(reason) != stop_class::failed || shut_down) {
            const std::optional<stop_reason> failed = co_await hooks.end(reason);
            ended = failed ? failed : ended;
        }
    }
    const std::optional<stop_reason> failed = co_await hooks.clean_up();
    co_return failed.value_or(*ended);
}

// Runs the turn from the first request to the last answer. The clean-ups follow in any case.
boost::asio::awaitable<stop_reason> hooked_run::run_turn() {
    const stop_reason reason = co_await caught(bring_tools_and_run());
    if (!model_round_.turn()) {
        co_return reason;
    }
    const stop_reason ended = co_await caught(append_partial(reason));
    co_return class_of(reason) == stop_class::failed ? reason : ended;
}

// Calls that have waited for a person are executed before the first request, and may be of tools
// that plugins bring.
boost::asio::awaitable<stop_reason> hooked_run::bring_tools_and_run() {
    const auto& executors = request_.agent.executors;
    const bool any_unknown =
        std::ranges::any_of(conversation_.calls_to_execute(), [&](const session::tool_call& call) {
            return tools_.tool_of(call.name) == nullptr &&
                   (executors == nullptr || !executors->contains(call.name));
        });
    if (any_unknown && !stop_.requested()) {
        if (const auto ended = co_await hooks_->before_request(model_round_.draft(true))) {
            co_return *ended;
        }
    }
    co_return co_await run_steps();
}

boost::asio::awaitable<stop_reason> hooked_run::append_partial(stop_reason reason) {
    const std::optional<stop_reason> failed = co_await append_answer();
    co_return failed.value_or(reason);
}

// Turns an exception into an error of the turn.
boost::asio::awaitable<stop_reason> hooked_run::caught(boost::asio::awaitable<stop_reason> steps) {
    try {
        co_return co_await std::move(steps);
    } catch (const std::exception& error) {
        if (stop_.requested()) {
            co_return stop_.reason(); // Thrown by a cancelled wait.
        }
        hooks_->turn().add_error(error.what());
    }
    co_return stop_reason::error;
}

// Leaves the answer, as the plugins changed it, in unstored_.
boost::asio::awaitable<std::optional<stop_reason>> hooked_run::append_answer() {
    said_answer said = take_answer(model_round_.turn(), request_.run_id);
    const std::optional<stop_reason> ended = co_await hooks_->append_answer(said);
    const bool counted = std::ranges::any_of(said.messages, [](const session::message& each) {
        return each.origin && each.origin->tokens > 0 && !each.by_plugin;
    });
    if (!counted) {
        model_round_.carry_tokens();
    }
    hold(std::move(said));
    co_return ended;
}

boost::asio::awaitable<std::optional<stop_reason>> hooked_run::ask() {
    const bool first = answers_ == 0;
    std::optional<stop_reason> ended = co_await hooks_->before_request(model_round_.draft(first));
    if (!ended) {
        ended = co_await stream(first);
        if (!ended) {
            ended = check_limits();
        }
        if (!ended || *ended == stop_reason::completed ||
            *ended == stop_reason::max_output_tokens) {
            co_return co_await follow_answer(ended);
        }
    }
    co_return ended;
}

boost::asio::awaitable<std::optional<stop_reason>> hooked_run::stream(bool first) {
    std::optional<stop_reason> ended;
    try {
        ended = co_await model_round_.ask(first);
    } catch (const std::exception&) {
        if (!hooks_->turn().stream_failed()) {
            throw;
        }
    }
    const std::optional<stop_reason> failed = hooks_->turn().stream_verdict();
    co_return failed ? failed : ended;
}

// Follows a complete answer. It is stored before on_after_request can have any effect. `ended` is
// how the run ends without another request; nullopt if the answer has calls or is a pause.
boost::asio::awaitable<std::optional<stop_reason>>
hooked_run::follow_answer(std::optional<stop_reason> ended) {
    std::optional<stop_reason> failed = co_await append_answer();
    const bool denied = std::ranges::any_of(unstored_->calls, [](const call_record& call) {
        return call.status == call_status::denied;
    });
    if (!failed && unstored_->messages.empty()) {
        unstored_.reset();
    } else if (!failed) {
        failed = co_await commit_unstored();
    }
    if (failed) {
        co_return failed;
    }
    const run_hooks::following next = co_await hooks_->follow();
    if (next.ended) {
        co_return next.ended;
    }
    if (!conversation_.open_calls().empty()) {
        co_return ended; // The model is asked again once these calls are answered.
    }
    if (!ended && model_round_.paused()) {
        co_return std::nullopt;
    }
    if (!next.requested && (ended || !denied)) {
        co_return ended.value_or(stop_reason::completed);
    }
    co_return ended ? count_round() : std::nullopt; // An answer with calls was already counted.
}

// Shows the conversation again if a plugin changed messages that the client had seen.
boost::asio::awaitable<void> hooked_run::show_changed(const session::changes& last) {
    // Subagents leave it to the run to show their messages again.
    if (!hooks_->changed() && (delegation_ == nullptr || !delegation_->is_changed)) {
        co_return;
    }
    const std::optional<stop_reason> failed = co_await conversation_.load();
    if (failed) {
        services_.log.log(
            log_level::warning, "the changes of plugins could not be shown to the client",
            {{"run", session::client_run_id(request_.run_id)}}
        );
        co_return;
    }
    session::thread_record thread = conversation_.thread();
    session::apply(thread, last);
    emit_snapshot(
        thread, last.branches.empty() ? conversation_.tip() : last.branches.back().value.tip
    );
}

void hooked_run::add_details(end_details& about) { about.hook_errors = hooks_->turn().errors(); }

} // namespace agui::runner
