#include "runner/loop/agent_loop.hpp"
#include "runner/loop/context_part.hpp"

#include "runner/loop/conversation.hpp"
#include "runner/loop/model_turn.hpp"
#include "runner/tools/tool_batch.hpp"
#include "session/base/failpoint.hpp"
#include "session/history/model_history.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace agui::runner {

namespace {

using session::call_owner;
using session::call_record;
using session::call_status;

// Adds up the usage of several calls to one model; a count that no call reported stays absent.
void add_count(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
    if (more) {
        sum = sum.value_or(0) + *more;
    }
}

void add_usage(std::vector<token_usage>& all, const token_usage& more) {
    for (token_usage& one : all) {
        if (one.provider == more.provider && one.model == more.model) {
            add_count(one.input_tokens, more.input_tokens);
            add_count(one.output_tokens, more.output_tokens);
            add_count(one.reasoning_tokens, more.reasoning_tokens);
            add_count(one.cached_input_tokens, more.cached_input_tokens);
            add_count(one.cache_write_input_tokens, more.cache_write_input_tokens);
            return;
        }
    }
    all.push_back(more);
}

// Cancels a batch on every way out of a scope; nothing happens to one that is done.
class batch_end {
public:
    explicit batch_end(tool_batch& batch) noexcept : batch_(batch) {}
    ~batch_end() { batch_.cancel(); }
    batch_end(const batch_end&) = delete;
    batch_end& operator=(const batch_end&) = delete;

private:
    tool_batch& batch_;
};

class agent_run {
public:
    agent_run(run_request request, loop_services services, run_sink& sink, stop_source& stop)
        : request_(std::move(request)),
          services_(services),
          sink_(sink),
          stop_(stop),
          conversation_(std::move(request_.thread), request_.run_id, sink, services.time) {
        tools_ = services_.tools.definitions(request_.agent.tool_patterns);
        for (const tool_definition& tool : tools_) {
            server_tools_.insert(tool.name);
        }
        for (tool_definition& tool : request_.external_tools) {
            if (!server_tools_.contains(tool.name)) {
                external_tools_.insert(tool.name);
                tools_.push_back(std::move(tool));
            }
        }
        request_.external_tools.clear();
    }

    // The reason of the end. What is not committed yet is left in turn_ for finish().
    boost::asio::awaitable<stop_reason> run() {
        check_failpoint("loop.begun");
        if (stop_.requested()) {
            co_return stop_.reason(); // It was stopped while it was begun.
        }
        switch (request_.next) {
        case session::next_step::wait_for_answers:
            co_return stop_reason::partial_answers;
        case session::next_step::nothing:
            if (request_.snapshot) {
                emit_snapshot();
            }
            co_return stop_reason::nothing_new;
        case session::next_step::call_model:
            break;
        }
        for (std::uint32_t round = 0;; ++round) {
            if (stop_.requested()) {
                co_return stop_.reason();
            }
            const std::optional<stop_reason> ended = co_await ask_model(round == 0);
            if (ended) {
                co_return *ended;
            }
            if (round == request_.agent.max_rounds) {
                co_return stop_reason::max_rounds;
            }
            const std::optional<stop_reason> handed = co_await execute_calls();
            if (handed) {
                co_return *handed;
            }
        }
    }

    boost::asio::awaitable<void> finish(stop_reason reason) {
        run_end end;
        end.reason = reason;
        end.usage = std::move(usage_);
        session::changes change;
        if (turn_) {
            change = take_turn();
        } else if (unstored_) {
            change = std::move(*unstored_);
        }
        const bool handing_off = reason == stop_reason::external_tool;
        const bool success = class_of(reason) == stop_class::success;
        for (const call_record& call : conversation_.open_calls(change)) {
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
        change.at = services_.time.now();
        co_await sink_.finish(std::move(change), std::move(end));
    }

private:
    void emit_snapshot() {
        std::vector<session::message> messages;
        const session::thread_record& thread = conversation_.thread();
        for (const session::node_index node : thread.path(conversation_.tip())) {
            messages.push_back(thread.nodes[node].message);
        }
        sink_.emit(messages_snapshot{&messages});
    }

    // Asks once. Nothing: there are calls to execute or to hand over.
    boost::asio::awaitable<std::optional<stop_reason>> ask_model(bool first) {
        if (!first && conversation_.bytes() > services_.max_thread_bytes) {
            co_return stop_reason::token_limit;
        }
        const bool held = co_await conversation_.hold();
        if (!held) {
            co_return stop_reason::store_unavailable;
        }
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        std::vector<session::message> history =
            session::model_history(conversation_.thread(), conversation_.tip());
        conversation_.let_go(); // Not held for as long as the model streams.
        put_context(history, request_.agent.context);
        model_request ask;
        ask.parameters = request_.agent.parameters;
        // A forced choice would be obeyed again after each result, without an end.
        if (!first || !request_.new_user_turn || tools_.empty()) {
            ask.parameters.tool_choice.reset();
        }
        ask.instructions = request_.agent.instructions;
        ask.messages = &history;
        ask.tools = &tools_;
        turn_.emplace(
            sink_, services_.ids,
            [this](std::string_view id, std::string_view name) { return name_call(id, name); },
            services_.model.name(), ask.parameters.model
        );

        check_failpoint("loop.ask_model");
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        // A coroutine of its own: cancelling the call must not cancel the commits that follow it.
        const auto executor = co_await boost::asio::this_coro::executor;
        const model_outcome outcome = co_await boost::asio::co_spawn(
            executor, services_.model.ask(ask, *turn_),
            boost::asio::bind_cancellation_slot(stop_.slot(), boost::asio::use_awaitable)
        );
        check_failpoint("loop.model_answered");
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        if (!outcome) {
            co_return on_model_failure(outcome.error());
        }
        co_return on_model_answer(*outcome);
    }

    std::optional<stop_reason> on_model_failure(const model_failure& failed) {
        services_.log.log(
            log_level::error, "model call failed",
            {{"run", request_.run_id},
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

    // At debug level only: it may repeat what the conversation holds.
    void log_upstream(std::string_view said) {
        if (!said.empty()) {
            services_.log.log(
                log_level::debug, "the model server said",
                {{"run", request_.run_id}, {"upstream", said}}
            );
        }
    }

    std::optional<stop_reason> on_model_answer(const model_answer& answer) {
        if (answer.usage) {
            add_usage(usage_, *answer.usage);
        }
        if (!answer.unknown_reason.empty()) {
            services_.log.log(
                log_level::warning, "unknown finish_reason", {{"run", request_.run_id}}
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
        sink_.emit(turn_ended{});
        if (turn_->calls().empty()) {
            return stop_reason::completed;
        }
        return std::nullopt;
    }

    model_turn::call name_call(std::string_view id, std::string_view name) {
        model_turn::call call;
        call.id = id;
        const auto& own = turn_->calls();
        const bool taken = conversation_.may_have_call(call.id) ||
                           std::any_of(own.begin(), own.end(), [&](const model_turn::call& other) {
                               return other.id == call.id;
                           });
        // One that no client could send back in its answer is replaced, too.
        if (call.id.empty() || !is_sound_id(call.id) || taken) {
            call.id = services_.ids.next("call"); // Like no other.
        }
        call.name = name;
        call.owner =
            external_tools_.contains(call.name) ? call_owner::external : call_owner::server;
        return call;
    }

    // The turn as messages and calls after the branch's tip; turn_ is empty afterwards.
    session::changes take_turn() {
        branch_growth growing = conversation_.growth();
        std::vector<call_record> calls;
        for (const model_turn::call& call : turn_->calls()) {
            calls.push_back({call.id, call.name, request_.run_id, call.owner, call_status::open, {}}
            );
        }
        for (session::message& message : turn_->take_messages()) {
            const bool is_answer = message.role == session::role::assistant;
            const session::node_index node = conversation_.append(growing, std::move(message));
            if (is_answer) {
                for (call_record& call : calls) {
                    call.made_in = node;
                }
                conversation_.add_event(
                    growing.change, "assistant.message", {{"messageId", turn_->message_id()}}
                );
            }
        }
        growing.change.calls = std::move(calls);
        turn_.reset();
        return conversation_.take(std::move(growing));
    }

    // Executes what is the server's. Nothing: every call is answered, the model goes on.
    boost::asio::awaitable<std::optional<stop_reason>> execute_calls() {
        std::vector<model_turn::call> server_calls;
        for (const model_turn::call& call : turn_->calls()) {
            if (call.owner == call_owner::server) {
                server_calls.push_back(call);
            }
        }
        if (server_calls.empty()) {
            co_return stop_reason::external_tool; // finish() stores the turn with the terminal.
        }
        // A tool must not have an effect that a crash could make the conversation forget.
        // It was shown: if this fails, the end of the run tries once more.
        unstored_ = std::make_unique<session::changes>(take_turn());
        const bool stored = co_await conversation_.commit(*unstored_);
        if (!stored) {
            co_return stop_reason::store_unavailable;
        }
        unstored_.reset();
        check_failpoint("loop.turn_stored");
        if (stop_.requested()) {
            co_return stop_.reason();
        }
        co_return co_await run_tools(server_calls);
    }

    boost::asio::awaitable<std::optional<stop_reason>>
    run_tools(const std::vector<model_turn::call>& calls) {
        const auto executor = co_await boost::asio::this_coro::executor;
        const auto batch = std::make_shared<tool_batch>(
            executor, stop_, request_.agent.max_parallel_tools, services_.max_result_bytes,
            services_.log
        );
        // However this is left, by a result that cannot be shown or stored as well, nothing of the
        // batch goes on.
        const batch_end end(*batch);
        for (const model_turn::call& call : calls) {
            const bool allowed = server_tools_.contains(call.name);
            batch->add(allowed ? services_.tools.find(call.name) : nullptr, invocation(call));
        }
        batch->start();
        bool handed_over = false;
        while (!batch->done()) {
            const bool stopped = co_await wait_for(*batch);
            if (stopped) {
                co_return stop_.reason();
            }
            std::vector<tool_batch::finished> finished = batch->take_finished();
            if (finished.empty()) {
                continue;
            }
            check_failpoint("loop.tools_finished");
            const std::optional<stop_reason> failed = co_await store_results(finished, handed_over);
            check_failpoint("loop.results_stored");
            if (failed) {
                co_return failed;
            }
        }
        // Calls of the caller may stand beside the server's in this turn.
        if (handed_over || !conversation_.open_calls({}).empty()) {
            co_return stop_reason::external_tool;
        }
        co_return std::nullopt;
    }

    // True if the run was stopped meanwhile.
    boost::asio::awaitable<bool> wait_for(tool_batch& batch) {
        if (stop_.requested()) {
            co_return true;
        }
        stop_.slot().assign([&batch](boost::asio::cancellation_type) { batch.wake(); });
        co_await batch.wait();
        stop_.slot().clear();
        co_return stop_.requested();
    }

    boost::asio::awaitable<std::optional<stop_reason>>
    store_results(std::vector<tool_batch::finished>& finished, bool& handed_over) {
        branch_growth growing = conversation_.growth();
        std::vector<session::message> results;
        for (tool_batch::finished& one : finished) {
            const call_record& call = conversation_.own_call(one.call_id);
            if (one.outcome.what == tool_outcome::kind::external) {
                call_record changed = call;
                changed.owner = call_owner::external;
                growing.change.calls.push_back(std::move(changed));
                handed_over = true;
                continue;
            }
            conversation::set_status(growing.change, call, call_status::answered);
            results.push_back(result_message(one));
            conversation_.append(growing, results.back());
            conversation_.add_event(
                growing.change, "tool.response",
                {{"toolCallId", one.call_id}, {"messageId", results.back().id}}
            );
        }
        const bool stored = co_await conversation_.commit(conversation_.take(std::move(growing)));
        if (!stored) {
            co_return stop_reason::store_unavailable;
        }
        for (const session::message& result : results) {
            sink_.emit(call_result{
                result.id, result.tool_call_id, &result.content, result.error.has_value()
            });
        }
        co_return std::nullopt;
    }

    session::message result_message(tool_batch::finished& one) {
        session::message result;
        result.id = services_.ids.next("msg");
        result.role = session::role::tool;
        result.tool_call_id = one.call_id;
        result.content = std::move(one.outcome.content);
        if (one.outcome.what == tool_outcome::kind::error) {
            result.error = session::text_of(result.content);
        }
        return result;
    }

    [[nodiscard]] tool_invocation invocation(const model_turn::call& call) const {
        tool_invocation made;
        made.name = call.name;
        made.arguments_text = call.arguments;
        made.call_id = call.id;
        made.thread_id = request_.key.thread_id;
        made.run_id = request_.run_id;
        made.agent_id = request_.agent.id;
        return made;
    }

    // A client must not take a call of the server for its own (specification S5): it gets a result,
    // on the wire only.
    void emit_lost_result(const call_record& call) {
        const session::content text = std::string("The call was interrupted.");
        const std::string message_id = services_.ids.next("msg");
        sink_.emit(call_result{message_id, call.id, &text, true});
    }

    run_request request_;
    loop_services services_;
    run_sink& sink_;
    stop_source& stop_;
    conversation conversation_;
    std::vector<tool_definition> tools_;
    std::set<std::string, std::less<>> server_tools_;
    std::set<std::string, std::less<>> external_tools_;
    std::optional<model_turn> turn_;
    std::unique_ptr<session::changes> unstored_; ///< A turn whose commit has not succeeded.
    std::vector<token_usage> usage_;
};

// A stop that came before the run was over is how it ended; that its end cannot be stored is worse.
stop_reason last_word(stop_source& stop, stop_reason reason) noexcept {
    const std::optional<stop_reason> stopped = stop.close();
    return stopped && reason != stop_reason::store_unavailable ? *stopped : reason;
}

boost::asio::awaitable<void>
drive(std::unique_ptr<agent_run> run, std::string run_id, stop_source& stop, logger& log) {
    stop_reason reason = stop_reason::error;
    try {
        reason = co_await run->run();
        check_failpoint("loop.ending");
    } catch (const std::exception& error) {
        // What a cancelled wait throws is no failure.
        const log_level level = stop.requested() ? log_level::debug : log_level::error;
        log.log(level, "run failed", {{"run", run_id}, {"detail", error.what()}});
    }
    try {
        co_await run->finish(last_word(stop, reason));
    } catch (const std::exception& error) {
        log.log(
            log_level::critical, "a run could not be ended",
            {{"run", run_id}, {"detail", error.what()}}
        );
    }
}

} // namespace

// The state of a run lives once, on the heap: as a coroutine's parameter and as its local it would
// be held twice for as long as the model streams.
boost::asio::awaitable<void>
run_agent(run_request request, loop_services services, run_sink& sink, stop_source& stop) {
    std::string run_id = request.run_id;
    logger& log = services.log;
    return drive(
        std::make_unique<agent_run>(std::move(request), services, sink, stop), std::move(run_id),
        stop, log
    );
}

} // namespace agui::runner
