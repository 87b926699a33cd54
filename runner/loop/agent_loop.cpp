#include "runner/loop/agent_loop.hpp"

#include "runner/loop/conversation.hpp"
#include "runner/loop/model_round.hpp"
#include "runner/loop/run_step.hpp"
#include "runner/loop/tool_round.hpp"
#include "runner/loop/turn_use.hpp"
#include "session/base/failpoint.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

namespace agui::runner {

namespace {

using session::call_owner;
using session::call_record;
using session::call_status;

class agent_run {
public:
    agent_run(run_request request, loop_services services, run_sink& sink, stop_source& stop)
        : request_(std::move(request)),
          services_(services),
          sink_(sink),
          stop_(stop),
          tools_(services.tools, request_.agent.tool_patterns, std::move(request_.external_tools)),
          conversation_(std::move(request_.thread), request_.run_id, sink, services.time) {
        const session::thread_record& thread = conversation_.thread();
        earlier_ = use_of_turn(thread, conversation_.tip());
        model_round_.prefer(earlier_.last_provider);
        if (request_.agent.limits.loop_threshold > 1) {
            detector_.emplace(request_.agent.limits.loop_threshold);
            for (const session::tool_call& call :
                 last_calls(thread, conversation_.tip(), detector_->memory())) {
                (void)detector_->add(call.name, call.arguments);
            }
        }
    }

    // The reason of the end. What is not committed yet is left in model_round_.turn() for finish().
    boost::asio::awaitable<stop_reason> run() {
        check_failpoint("loop.begun");
        if (stop_.requested()) {
            co_return stop_.reason(); // It was stopped while it was being started.
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
        for (;;) {
            if (stop_.requested()) {
                co_return stop_.reason();
            }
            std::optional<stop_reason> ended;
            switch (next_run_step(conversation_.open_calls())) {
            case run_step::ask_model:
                ended = check_tokens();
                if (!ended) { // Here, not in a coroutine between: each frame is held by each
                              // stream.
                    ended = co_await model_round_.ask(answers_ == 0);
                }
                if (!ended) {
                    ended = check_limits();
                }
                if (!ended) {
                    ended = co_await store_turn();
                }
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

    boost::asio::awaitable<void> finish(stop_reason reason) {
        run_end end;
        end.reason = reason;
        end.usage = model_round_.take_usage();
        session::changes change;
        if (model_round_.turn()) {
            change = take_turn();
        } else if (unstored_) {
            change = std::move(*unstored_);
        }
        const bool handing_off = reason == stop_reason::external_tool;
        const bool success = class_of(reason) == stop_class::success;
        std::vector<call_record> open = conversation_.open_calls();
        open.insert(open.end(), change.calls.begin(), change.calls.end());
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

    // The turn as messages and calls after the branch's tip; the model round has none afterwards.
    session::changes take_turn() {
        std::optional<model_turn>& turn = model_round_.turn();
        branch_growth growing = conversation_.growth();
        std::vector<call_record> calls;
        for (const model_turn::call& call : turn->calls()) {
            calls.push_back({call.id, call.name, request_.run_id, call.owner, call_status::open, {}}
            );
        }
        for (session::message& message : turn->take_messages()) {
            const bool is_answer = message.role == session::role::assistant;
            const session::node_index node = conversation_.append(growing, std::move(message));
            if (is_answer) {
                for (call_record& call : calls) {
                    call.made_in = node;
                }
                conversation_.add_event(
                    growing.change, "assistant.message", {{"messageId", turn->message_id()}}
                );
            }
        }
        growing.change.calls = std::move(calls);
        turn.reset();
        return conversation_.take(std::move(growing));
    }

    std::optional<stop_reason> check_tokens() const {
        const std::uint64_t most = request_.agent.limits.max_tokens;
        const bool used_up = most > 0 && earlier_.tokens + model_round_.tokens() >= most;
        return used_up ? std::optional(stop_reason::token_limit) : std::nullopt;
    }

    // Stores the turn if the server has calls to execute.
    boost::asio::awaitable<std::optional<stop_reason>> store_turn() {
        const bool any_for_server =
            std::ranges::any_of(model_round_.turn()->calls(), [](const model_turn::call& call) {
                return call.owner == call_owner::server;
            });
        if (!any_for_server) {
            co_return stop_reason::external_tool; // finish() stores the turn together with the
                                                  // terminal event.
        }
        // A tool must not have an effect that a crash could make the conversation forget. It was
        // shown: if this commit fails, the end of the run tries once more.
        unstored_ = std::make_unique<session::changes>(take_turn());
        const bool stored = co_await conversation_.commit(*unstored_);
        if (!stored) {
            co_return stop_reason::store_unavailable;
        }
        unstored_.reset();
        check_failpoint("loop.turn_stored");
        co_return std::nullopt;
    }

    // Of an answer with calls: true if nothing of it may be executed or handed over.
    std::optional<stop_reason> check_limits() {
        const turn_limits& limits = request_.agent.limits;
        const std::vector<model_turn::call>& calls = model_round_.turn()->calls();
        if (answers_++ == request_.agent.max_rounds) {
            return stop_reason::max_rounds;
        }
        calls_ += calls.size();
        const bool too_many_calls = limits.max_calls > 0 && calls_ > limits.max_calls;
        const bool too_many_rounds =
            limits.max_turn_rounds > 0 && earlier_.rounds + answers_ > limits.max_turn_rounds;
        if (too_many_calls || too_many_rounds) {
            services_.log.log(
                log_level::warning, "a run has exceeded a limit of its agent",
                {{"run", request_.run_id},
                 {"limit", too_many_calls ? "max_calls" : "max_turn_rounds"}}
            );
            return stop_reason::max_rounds;
        }
        for (const model_turn::call& call : calls) {
            if (on_loop(call) == loop_action::terminate) {
                return stop_reason::tool_loop;
            }
        }
        return std::nullopt;
    }

    loop_action on_loop(const model_turn::call& call) {
        if (!detector_) {
            return loop_action::go_on;
        }
        const std::optional<found_loop> found = detector_->add(call.name, call.arguments);
        if (!found) {
            return loop_action::go_on;
        }
        const turn_limits& limits = request_.agent.limits;
        const loop_action action = limits.decide_loop ? limits.decide_loop(*found) : limits.on_loop;
        services_.log.log(
            log_level::warning, "the model repeats its calls",
            {{"run", request_.run_id},
             {"call", call.id},
             {"repeats", std::to_string(found->repeats)},
             {"period", std::to_string(found->period)}}
        );
        if (action == loop_action::warn) {
            tool_round_.warn(call.id, loop_warning(*found));
        }
        return action;
    }

    // A client must not mistake a server call for its own (specification S5), so the call gets a
    // result, on the wire only.
    void emit_lost_result(const call_record& call) {
        const session::content text = std::string("The call was interrupted.");
        const std::string message_id = services_.ids.next("msg");
        sink_.emit(call_result{message_id, call.id, &text, true});
    }

    [[nodiscard]] run_parts parts() noexcept {
        return {request_, services_, sink_, stop_, conversation_, tools_};
    }

    run_request request_;
    loop_services services_;
    run_sink& sink_;
    stop_source& stop_;
    const run_tools tools_;
    conversation conversation_;
    model_round model_round_{parts()};
    tool_round tool_round_{parts()};
    std::uint32_t answers_ = 0; ///< That held calls.
    std::size_t calls_ = 0;
    turn_use earlier_;                           ///< By earlier runs of this user turn.
    std::optional<loop_detector> detector_;      ///< Empty: no detection.
    std::unique_ptr<session::changes> unstored_; ///< A turn whose commit has failed.
};

// A stop that came before the run was over is its end reason, unless the end could not be stored,
// which takes precedence.
stop_reason end_reason(stop_source& stop, stop_reason reason) noexcept {
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
        // An exception from a cancelled wait is not a failure.
        const log_level level = stop.requested() ? log_level::debug : log_level::error;
        log.log(level, "run failed", {{"run", run_id}, {"detail", error.what()}});
    }
    try {
        co_await run->finish(end_reason(stop, reason));
    } catch (const std::exception& error) {
        log.log(
            log_level::critical, "a run could not be ended",
            {{"run", run_id}, {"detail", error.what()}}
        );
    }
}

} // namespace

// The state of a run exists once, on the heap: as a coroutine's parameter and local it would be
// held twice while the model streams.
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
