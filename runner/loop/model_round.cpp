#include "runner/loop/model_round.hpp"

#include "runner/loop/context_part.hpp"
#include "session/base/failpoint.hpp"
#include "session/history/model_history.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agui::runner {

// Asks the model once. nullopt: there are calls to execute or to hand over.
boost::asio::awaitable<std::optional<stop_reason>> model_round::ask(bool first) {
    if (!first && run_.thread.bytes() > run_.services.max_thread_bytes) {
        co_return stop_reason::token_limit;
    }
    const bool loaded = co_await run_.thread.load();
    if (!loaded) {
        co_return stop_reason::store_unavailable;
    }
    if (run_.stop.requested()) {
        co_return run_.stop.reason();
    }
    std::vector<session::message> history =
        session::model_history(run_.thread.thread(), run_.thread.tip());
    run_.thread.unload(); // Not in memory while the model streams.
    put_context(history, run_.request.agent.context);
    model_request ask;
    ask.parameters = run_.request.agent.parameters;
    // A forced choice would be obeyed again after each result, endlessly.
    if (!first || !run_.request.new_user_turn || run_.tools.offered().empty()) {
        ask.parameters.tool_choice.reset();
    }
    ask.instructions = run_.request.agent.instructions;
    ask.messages = &history;
    ask.tools = &run_.tools.offered();
    turn_.emplace(
        run_.sink, run_.services.ids,
        [this](std::string_view id, std::string_view name) { return name_call(id, name); },
        run_.services.model.name(), ask.parameters.model
    );

    check_failpoint("loop.ask_model");
    if (run_.stop.requested()) {
        co_return run_.stop.reason();
    }
    // The commits that follow must not be cancelled with it.
    const std::optional<model_outcome> outcome =
        co_await run_.stop.run(run_.services.model.ask(ask, *turn_));
    check_failpoint("loop.model_answered");
    if (!outcome || run_.stop.requested()) {
        co_return run_.stop.reason();
    }
    if (!*outcome) {
        co_return on_failure((*outcome).error());
    }
    co_return on_answer(**outcome);
}

std::optional<stop_reason> model_round::on_failure(const model_failure& failed) {
    run_.services.log.log(
        log_level::error, "model call failed",
        {{"run", run_.request.run_id},
         {"status", std::to_string(failed.status)},
         {"detail", failed.detail}}
    );
    log_upstream(failed.upstream);
    switch (failed.what) {
    case model_failure::kind::unavailable:
        return stop_reason::model_unavailable;
    case model_failure::kind::lost:
        return turn_->last_is_call() ? stop_reason::truncated : stop_reason::model_unavailable;
    case model_failure::kind::rejected:
        return stop_reason::model_rejected;
    case model_failure::kind::timeout:
        return stop_reason::model_timeout;
    case model_failure::kind::cancelled:
        return stop_reason::cancelled;
    }
    return stop_reason::error;
}

// At debug level only: it may repeat text of the conversation.
void model_round::log_upstream(std::string_view said) {
    if (!said.empty()) {
        run_.services.log.log(
            log_level::debug, "the model server said",
            {{"run", run_.request.run_id}, {"upstream", said}}
        );
    }
}

std::optional<stop_reason> model_round::on_answer(const model_answer& answer) {
    if (answer.usage) {
        add_usage(usage_, *answer.usage);
    }
    count_tokens(answer);
    if (!answer.unknown_reason.empty()) {
        run_.services.log.log(
            log_level::warning, "unknown finish_reason", {{"run", run_.request.run_id}}
        );
        log_upstream(answer.unknown_reason);
    }
    switch (answer.reason) {
    case finish_reason::length:
        return turn_->last_is_call() ? stop_reason::truncated : stop_reason::max_output_tokens;
    case finish_reason::content_filter:
        return stop_reason::content_filtered;
    case finish_reason::stop:
    case finish_reason::tool_calls:
        break;
    }
    turn_->complete_calls();
    run_.sink.emit(turn_ended{});
    if (turn_->calls().empty()) {
        return stop_reason::completed;
    }
    return std::nullopt;
}

void model_round::count_tokens(const model_answer& answer) {
    constexpr std::uint64_t bytes_of_token = 4; // Of English text and of JSON.
    std::uint64_t count = 0;
    if (answer.usage) {
        for (const auto& part : {answer.usage->input_tokens, answer.usage->output_tokens}) {
            count += static_cast<std::uint64_t>(std::max<std::int64_t>(part.value_or(0), 0));
        }
    } else {
        count = turn_->bytes() / bytes_of_token + 1;
    }
    tokens_ += count;
    if (run_.request.agent.limits.max_tokens > 0) {
        turn_->set_tokens(count);
    }
}

model_turn::call model_round::name_call(std::string_view id, std::string_view name) {
    model_turn::call call;
    call.id = id;
    const auto& own = turn_->calls();
    const bool taken = run_.thread.may_have_call(call.id) ||
                       std::any_of(own.begin(), own.end(), [&](const model_turn::call& other) {
                           return other.id == call.id;
                       });
    // An id that no client could send back in its answer is replaced too.
    if (call.id.empty() || !is_sound_id(call.id) || taken) {
        call.id = run_.services.ids.next("call"); // Unique.
    }
    call.name = name;
    call.owner = run_.tools.owner_of(call.name);
    return call;
}

} // namespace agui::runner
