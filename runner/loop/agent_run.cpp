#include "runner/loop/agent_run.hpp"

#include "runner/loop/loop_warnings.hpp"
#include "runner/loop/run_step.hpp"
#include "runner/loop/turn_use.hpp"
#include "session/base/failpoint.hpp"
#include "session/conversation/run_segment.hpp"
#include "session/history/shown_messages.hpp"

#include <algorithm>
#include <utility>

namespace agui::runner {

using session::call_owner;
using session::call_record;
using session::call_status;

agent_run::agent_run(
    run_request request, loop_services services, run_sink& sink, stop_source& stop,
    memory_share memory
)
    : request_(std::move(request)),
      services_(services),
      sink_(sink),
      stop_(stop),
      tools_(services.tools, request_.agent, std::move(request_.external_tools)),
      conversation_(
          std::move(request_.thread), request_.run_id, sink, services.time,
          memory.held() > 0 ? std::move(memory) : memory_share(services.memory)
      ),
      delegation_(
          request_.within == nullptr && !request_.agent.agents.empty()
              ? std::make_unique<delegation>(
                    sink, conversation_, request_.approved, request_.agent.limits
                )
              : nullptr
      ),
      within_(delegation_ ? delegation_.get() : request_.within),
      subagents_(
          request_.agent.agents.empty() ? nullptr : std::make_shared<subagent_runs>(parts())
      ) {
    conversation_.set_additions([context = open_context_] { return context->take_unstored(); });
    const session::thread_record& thread = conversation_.thread();
    used_ = request_.used ? *std::move(request_.used) : use_of_turn(thread, conversation_.tip());
    model_round_.prefer(used_.last_provider);
    detector_ = detector_of_turn(thread, conversation_.tip(), request_.agent.limits);
}

// The frame lives while the model streams, so large variables are in separate coroutines.
boost::asio::awaitable<stop_reason> agent_run::run_steps() {
    check_failpoint("loop.begun");
    show_refused_calls();
    if (stop_.requested()) {
        co_return stop_.reason(); // The stop came while the run was being started.
    }
    for (;;) {
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        // Activities shown between two steps are stored before the messages of the next step.
        if (open_context_->has_unstored() && !co_await store_activities()) {
            co_return stop_reason::store_unavailable;
        }
        std::optional<stop_reason> ended;
        switch (next_step()) {
        case run_step::ask_model:
            if (request_.next != session::next_step::call_model) {
                ended = co_await end_without_model();
                break;
            }
            ended = co_await before_answer();
            if (!ended) {
                ended = co_await ask(); // Here, because each stream holds the frames around it.
                ended = co_await after_answer(ended);
            }
            break;
        case run_step::execute_calls:
            if (delegation_) {
                delegation_->own = use_so_far();
                delegation_->own -= delegation_->used;
            }
            ended = co_await tool_round_.execute();
            break;
        case run_step::ask_approval:
            ended = co_await ask_approval();
            break;
        case run_step::hand_over:
            ended = stop_reason::external_tool;
            break;
        }
        if (ended) {
            co_return *ended;
        }
    }
}

boost::asio::awaitable<bool> agent_run::store_activities() {
    const result<void> stored = co_await conversation_.commit({});
    co_return stored.has_value();
}

// A call whose subagent waits is open, but nothing can be done for it in this run.
run_step agent_run::next_step() const noexcept {
    const run_step step = next_run_step(conversation_.open_calls());
    const bool is_over = step == run_step::ask_model || step == run_step::hand_over;
    if (!is_over || conversation_.suspended_calls().empty()) {
        return step;
    }
    const bool asks =
        request_.next == session::next_step::wait_for_approval ||
        std::ranges::any_of(conversation_.inner_calls(), [](const conversation::inner_call& each) {
            return each.record.status == call_status::held;
        });
    return asks ? run_step::ask_approval : run_step::hand_over;
}

// A paused answer is sent back with nothing after it.
boost::asio::awaitable<std::optional<stop_reason>> agent_run::before_answer() {
    std::optional<stop_reason> ended = check_tokens();
    if (!ended && sink_.has_messages() && !model_round_.paused()) {
        ended = co_await take_messages();
    }
    co_return ended;
}

boost::asio::awaitable<std::optional<stop_reason>>
agent_run::after_answer(std::optional<stop_reason> ended) {
    if (!ended) {
        co_return co_await keep_answer();
    }
    if (*ended != stop_reason::completed || !sink_.has_messages() || !may_answer_messages()) {
        co_return ended;
    }
    co_return co_await continue_with_messages();
}

// A run that goes on with calls begins with the messages, so that its results have their calls in
// the same stream.
void agent_run::show_refused_calls() {
    const bool goes_on = subagents_ != nullptr && !conversation_.open_calls().empty();
    if (!goes_on && request_.approved.empty() && request_.refused_calls.empty()) {
        return;
    }
    std::vector<session::message> shown =
        session::shown_messages(conversation_.thread(), conversation_.tip());
    // A client adds each result that it is sent to those that it has.
    std::vector<session::message> results;
    for (const session::taken_answer& refused : request_.refused_calls) {
        const auto result = std::ranges::find(shown, refused.message_id, &session::message::id);
        // A subagent is not announced yet, so its results stay among the messages.
        if (result != shown.end() && result->subagent_run_id.empty()) {
            results.push_back(std::move(*result));
            shown.erase(result);
        }
    }
    sink_.emit(messages_snapshot{&shown});
    for (const session::message& result : results) {
        sink_.emit(call_result{result.id, result.tool_call_id, &result.content, true});
    }
}

void agent_run::emit_snapshot(const session::thread_record& thread, session::node_index tip) {
    const std::vector<session::message> messages = session::shown_messages(thread, tip);
    sink_.emit(messages_snapshot{&messages});
}

std::optional<stop_reason> agent_run::check_tokens() {
    const std::uint64_t most = request_.agent.limits.max_tokens;
    const bool has_own = most == 0 || use_so_far().tokens < most;
    if (has_own && (!is_of_subagent() || within_->has_tokens())) {
        return std::nullopt;
    }
    note("max_tokens is reached");
    return stop_reason::token_limit;
}

// Checks the limits before anything is awaited, because a stop would cut an await short.
boost::asio::awaitable<std::optional<stop_reason>> agent_run::keep_answer() {
    return store_answer(check_limits());
}

boost::asio::awaitable<std::optional<stop_reason>>
agent_run::store_answer(std::optional<stop_reason> ended) {
    if (ended) {
        co_return ended;
    }
    const bool any_for_server =
        std::ranges::any_of(model_round_.turn()->calls(), [](const model_turn::call& call) {
            return call.owner == call_owner::server;
        });
    if (!any_for_server && !model_round_.paused()) {
        co_return stop_reason::external_tool; // finish() stores the turn together with the
                                              // terminal event.
    }
    // Stored first, so that a crash cannot make the conversation forget a tool's effect. The answer
    // was shown, so if this commit fails, the end of the run tries once more.
    hold(take_answer(model_round_.turn(), request_.run_id));
    co_return co_await commit_unstored();
}

void agent_run::hold(said_answer said) {
    for (const session::message& message : said.messages) {
        for (const session::tool_call& call : message.tool_calls) {
            const auto made = std::ranges::find(said.calls, call.id, &call_record::id);
            if (made != said.calls.end() && is_executable(*made) &&
                tool_round_.needs_approval(call)) {
                made->status = call_status::held;
            }
        }
    }
    unstored_ = std::make_unique<session::changes>(to_change(conversation_, std::move(said)));
}

boost::asio::awaitable<std::optional<stop_reason>> agent_run::commit_unstored() {
    const auto stored = co_await conversation_.commit(*unstored_);
    if (!stored) {
        co_return stop_reason::store_unavailable;
    }
    unstored_.reset();
    check_failpoint("loop.turn_stored");
    co_return std::nullopt;
}

std::optional<stop_reason> agent_run::check_limits() {
    const turn_limits& limits = request_.agent.limits;
    const std::vector<model_turn::call>& calls = model_round_.turn()->calls();
    if (const auto ended = count_round()) {
        return ended;
    }
    if (model_round_.paused() && ++pauses_ > pauses_max) {
        return exceeded("pauses_max");
    }
    used_.calls += static_cast<std::uint32_t>(calls.size());
    if (is_of_subagent()) {
        within_->used.calls += static_cast<std::uint32_t>(calls.size());
    }
    if ((limits.max_calls > 0 && use_so_far().calls > limits.max_calls) ||
        (is_of_subagent() && !within_->has_calls())) {
        return exceeded("max_calls");
    }
    return check_loops(calls);
}

std::optional<stop_reason> agent_run::check_loops(const std::vector<model_turn::call>& calls) {
    if (!detector_) {
        return std::nullopt;
    }
    std::vector<loop_detector::call> made;
    made.reserve(calls.size());
    for (const model_turn::call& call : calls) {
        made.push_back({call.name, call.arguments});
    }
    const std::vector<std::optional<found_loop>> loops = detector_->add(made);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (loops[i] && on_loop(calls[i], *loops[i]) == loop_action::terminate) {
            note(calls[i].name + " is called repeatedly with the same arguments");
            return stop_reason::tool_loop;
        }
    }
    return std::nullopt;
}

std::optional<stop_reason> agent_run::count_round() {
    const std::uint32_t most = request_.agent.limits.max_turn_rounds;
    ++used_.rounds;
    if (is_of_subagent()) {
        ++within_->used.rounds;
    }
    if (answers_++ == request_.agent.max_rounds) {
        note("max_rounds is exceeded");
        return stop_reason::max_rounds;
    }
    const bool too_many =
        (most > 0 && use_so_far().rounds > most) || (is_of_subagent() && !within_->has_rounds());
    return too_many ? std::optional(exceeded("max_turn_rounds")) : std::nullopt;
}

turn_use agent_run::use_so_far() const {
    turn_use use = used_;
    use.tokens += model_round_.tokens();
    if (delegation_) {
        use += delegation_->used;
    }
    return use;
}

stop_reason agent_run::exceeded(std::string_view limit) {
    services_.log.log(
        log_level::warning, "a run has exceeded a limit of its agent",
        {{"run", session::client_run_id(request_.run_id)}, {"limit", limit}}
    );
    note(std::string(limit) + " is exceeded");
    return stop_reason::max_rounds;
}

loop_action agent_run::on_loop(const model_turn::call& call, const found_loop& found) {
    const loop_action action = action_on(found, request_.agent.limits);
    services_.log.log(
        log_level::warning, "the model repeats its calls",
        {{"run", session::client_run_id(request_.run_id)},
         {"call", call.id},
         {"repeats", std::to_string(found.repeats)},
         {"period", std::to_string(found.period)}}
    );
    if (action == loop_action::warn) {
        tool_round_.warn(call.id, loop_warning(found));
    }
    return action;
}

} // namespace agui::runner
