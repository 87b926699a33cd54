#include "runner/loop/agent_run.hpp"

#include "runner/loop/loop_warnings.hpp"
#include "runner/loop/run_step.hpp"
#include "runner/loop/turn_use.hpp"
#include "session/base/failpoint.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/shown_messages.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <iterator>
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
      ) {
    const session::thread_record& thread = conversation_.thread();
    used_ = request_.used ? *std::move(request_.used) : use_of_turn(thread, conversation_.tip());
    model_round_.prefer(used_.last_provider);
    detector_ = detector_of_turn(thread, conversation_.tip(), request_.agent.limits);
}

boost::asio::awaitable<void> agent_run::finish(stop_reason reason) {
    run_end end;
    end.reason = reason;
    end.usage = model_round_.take_usage();
    end.about = take_details();
    end.used = take_use();
    session::changes change;
    if (model_round_.turn()) {
        change = to_change(conversation_, take_answer(model_round_.turn(), request_.run_id));
    } else if (unstored_) {
        change = std::move(*unstored_);
    }
    const bool handing_off = reason == stop_reason::external_tool;
    const bool success = class_of(reason) == stop_class::success;
    std::vector<call_record> open = conversation_.open_calls();
    std::ranges::copy_if(change.calls, std::back_inserter(open), [](const call_record& call) {
        return call.status == call_status::open;
    });
    for (const call_record& call : open) {
        if (handing_off && call.owner == call_owner::external) {
            conversation::set_status(change, call, call_status::pending);
            end.pending_call_ids.push_back(call.id);
            continue;
        }
        conversation::set_status(change, call, call_status::dead);
        if (call.owner == call_owner::server) {
            emit_lost_result(call);
        } else if (!success) {
            end.external_call_open = true;
        }
    }
    if (class_of(reason) == stop_class::failed) {
        note_failure(change, reason);
    }
    change.at = services_.time.now();
    co_await show_changed(change);
    open_context_->close(); // Tools that are left running change nothing any more.
    co_await sink_.finish(std::move(change), std::move(end));
}

void agent_run::note(std::string_view detail) {
    if (detail_.empty()) {
        detail_ = detail;
    }
}

end_details agent_run::take_details() {
    end_details about;
    if (const model_failure* const failed = model_round_.failure()) {
        note(failed->detail);
        about.status = failed->status;
        about.request_id = failed->request_id;
        about.upstream = failed->upstream;
    }
    add_details(about);
    about.detail = std::move(detail_);
    return about;
}

turn_use agent_run::take_use() {
    used_.tokens += model_round_.tokens();
    if (!model_round_.last_provider().empty()) {
        used_.last_provider = model_round_.last_provider();
    }
    return std::move(used_);
}

boost::asio::awaitable<stop_reason> agent_run::run_steps() {
    check_failpoint("loop.begun");
    if (stop_.requested()) {
        co_return stop_.reason(); // The stop came while the run was being started.
    }
    switch (request_.next) {
    case session::next_step::wait_for_answers:
        co_return stop_reason::partial_answers;
    case session::next_step::nothing:
        if (request_.snapshot) {
            emit_snapshot(conversation_.thread(), conversation_.tip());
        }
        co_return stop_reason::nothing_new;
    case session::next_step::call_model:
        break;
    }
    for (;;) {
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        std::optional<stop_reason> ended;
        switch (next_run_step(conversation_.open_calls())) {
        case run_step::ask_model:
            ended = co_await next_round();
            break;
        case run_step::execute_calls:
            ended = co_await tool_round_.execute();
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

// A paused answer is sent back with nothing after it.
boost::asio::awaitable<std::optional<stop_reason>> agent_run::next_round() {
    std::optional<stop_reason> ended = check_tokens();
    if (!ended && sink_.has_messages() && !model_round_.paused()) {
        ended = co_await take_messages();
    }
    if (!ended) {
        ended = co_await ask();
    }
    if (!ended) {
        co_return co_await keep_answer();
    }
    if (*ended != stop_reason::completed || !sink_.has_messages() || !may_answer_messages()) {
        co_return ended;
    }
    co_return co_await continue_with_messages();
}

void agent_run::emit_snapshot(const session::thread_record& thread, session::node_index tip) {
    const std::vector<session::message> messages = session::shown_messages(thread, tip);
    sink_.emit(messages_snapshot{&messages});
}

std::optional<stop_reason> agent_run::check_tokens() {
    const std::uint64_t most = request_.agent.limits.max_tokens;
    if (most == 0 || used_.tokens + model_round_.tokens() < most) {
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
    if (limits.max_calls > 0 && used_.calls > limits.max_calls) {
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
    if (answers_++ == request_.agent.max_rounds) {
        note("max_rounds is exceeded");
        return stop_reason::max_rounds;
    }
    const bool too_many = most > 0 && used_.rounds > most;
    return too_many ? std::optional(exceeded("max_turn_rounds")) : std::nullopt;
}

stop_reason agent_run::exceeded(std::string_view limit) {
    services_.log.log(
        log_level::warning, "a run has exceeded a limit of its agent",
        {{"run", request_.run_id}, {"limit", limit}}
    );
    note(std::string(limit) + " is exceeded");
    return stop_reason::max_rounds;
}

loop_action agent_run::on_loop(const model_turn::call& call, const found_loop& found) {
    const loop_action action = action_on(found, request_.agent.limits);
    services_.log.log(
        log_level::warning, "the model repeats its calls",
        {{"run", request_.run_id},
         {"call", call.id},
         {"repeats", std::to_string(found.repeats)},
         {"period", std::to_string(found.period)}}
    );
    if (action == loop_action::warn) {
        tool_round_.warn(call.id, loop_warning(found));
    }
    return action;
}

// Leaves a note for later loads of the thread. It keeps refused messages out of later requests.
void agent_run::note_failure(session::changes& change, stop_reason reason) const {
    const bool is_about_content =
        reason == stop_reason::model_rejected || reason == stop_reason::content_filtered;
    conversation_.add_failure(
        change, {.code = std::string(error_code(reason)),
                 .message = std::string(describe(reason)),
                 .refused = is_about_content && model_round_.refused()}
    );
}

// A client must not mistake a server call for its own (specification S5), so the call gets a result
// that is sent but not stored.
void agent_run::emit_lost_result(const call_record& call) {
    session::tool_call made;
    made.id = call.id;
    made.name = call.name;
    const session::message result = session::shown_missing_result(made, session::call_status::dead);
    sink_.emit(call_result{result.id, call.id, &result.content, true});
}

} // namespace agui::runner
