#include "runner/loop/agent_loop.hpp"

#include "runner/loop/conversation.hpp"
#include "runner/loop/loop_warnings.hpp"
#include "runner/loop/model_round.hpp"
#include "runner/loop/run_hooks.hpp"
#include "runner/loop/run_step.hpp"
#include "runner/loop/said_answer.hpp"
#include "runner/loop/tool_round.hpp"
#include "runner/loop/turn_use.hpp"
#include "session/base/failpoint.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/shown_messages.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

namespace agui::runner {

namespace {

using session::call_owner;
using session::call_record;
using session::call_status;

class agent_run {
public:
    agent_run(
        run_request request, loop_services services, run_sink& sink, stop_source& stop,
        memory_share memory
    )
        : request_(std::move(request)),
          services_(services),
          sink_(sink),
          stop_(stop),
          tools_(services.tools, request_.agent.tool_patterns, std::move(request_.external_tools)),
          conversation_(
              std::move(request_.thread), request_.run_id, sink, services.time,
              memory.held() > 0 ? std::move(memory) : memory_share(services.memory)
          ) {
        const session::thread_record& thread = conversation_.thread();
        used_ =
            request_.used ? *std::move(request_.used) : use_of_turn(thread, conversation_.tip());
        model_round_.prefer(used_.last_provider);
        detector_ = detector_of_turn(thread, conversation_.tip(), request_.agent.limits);
        const bool asks = request_.next == session::next_step::call_model;
        if (asks && services.plugins != nullptr && !services.plugins->empty()) {
            hooks_ = std::make_unique<run_hooks>(parts(), *services.plugins);
        }
    }

    // The reason of the end. What is not committed yet is left in model_round_.turn() for finish().
    boost::asio::awaitable<stop_reason> run() { return hooks_ ? run_hooked() : run_steps(); }

    boost::asio::awaitable<void> finish(stop_reason reason) {
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
        if (hooks_ && hooks_->changed()) {
            co_await show_changed(change);
        }
        co_await sink_.finish(std::move(change), std::move(end));
    }

    /// What has happened, for end_details. The first one counts.
    void note(std::string_view detail) {
        if (detail_.empty()) {
            detail_ = detail;
        }
    }

private:
    end_details take_details() {
        end_details about;
        if (const model_failure* const failed = model_round_.failure()) {
            note(failed->detail);
            about.status = failed->status;
            about.request_id = failed->request_id;
            about.upstream = failed->upstream;
        }
        if (hooks_) {
            about.hook_errors = hooks_->turn().errors();
        }
        about.detail = std::move(detail_);
        return about;
    }

    turn_use take_use() {
        used_.tokens += model_round_.tokens();
        if (!model_round_.last_provider().empty()) {
            used_.last_provider = model_round_.last_provider();
        }
        return std::move(used_);
    }

    boost::asio::awaitable<stop_reason> run_steps() {
        check_failpoint("loop.begun");
        if (stop_.requested()) {
            co_return stop_.reason(); // It was stopped while it was being started.
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
                ended = check_tokens();
                if (!ended) { // Without plugins, in no coroutine between: each frame is held by
                              // each stream.
                    ended = co_await ask();
                }
                if (!ended && !hooks_) {
                    ended = check_limits();
                }
                if (!ended && !hooks_) {
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

    void emit_snapshot(const session::thread_record& thread, session::node_index tip) {
        const std::vector<session::message> messages = session::shown_messages(thread, tip);
        sink_.emit(messages_snapshot{&messages});
    }

    boost::asio::awaitable<std::optional<stop_reason>> ask() {
        return hooks_ ? ask_hooked() : model_round_.ask(answers_ == 0);
    }

    std::optional<stop_reason> check_tokens() {
        const std::uint64_t most = request_.agent.limits.max_tokens;
        if (most == 0 || used_.tokens + model_round_.tokens() < most) {
            return std::nullopt;
        }
        note("max_tokens is reached");
        return stop_reason::token_limit;
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
        hold(take_answer(model_round_.turn(), request_.run_id));
        co_return co_await commit_unstored();
    }

    void hold(said_answer said) {
        unstored_ = std::make_unique<session::changes>(to_change(conversation_, std::move(said)));
    }

    boost::asio::awaitable<std::optional<stop_reason>> commit_unstored() {
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
        if (const auto ended = count_round()) {
            return ended;
        }
        used_.calls += static_cast<std::uint32_t>(calls.size());
        if (limits.max_calls > 0 && used_.calls > limits.max_calls) {
            return exceeded("max_calls");
        }
        return check_loops(calls);
    }

    std::optional<stop_reason> check_loops(const std::vector<model_turn::call>& calls) {
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
                note(calls[i].name + " is called again and again");
                return stop_reason::tool_loop;
            }
        }
        return std::nullopt;
    }

    std::optional<stop_reason> count_round() {
        const std::uint32_t most = request_.agent.limits.max_turn_rounds;
        ++used_.rounds;
        if (answers_++ == request_.agent.max_rounds) {
            note("max_rounds is exceeded");
            return stop_reason::max_rounds;
        }
        const bool too_many = most > 0 && used_.rounds > most;
        return too_many ? std::optional(exceeded("max_turn_rounds")) : std::nullopt;
    }

    stop_reason exceeded(std::string_view limit) {
        services_.log.log(
            log_level::warning, "a run has exceeded a limit of its agent",
            {{"run", request_.run_id}, {"limit", limit}}
        );
        note(std::string(limit) + " is exceeded");
        return stop_reason::max_rounds;
    }

    loop_action on_loop(const model_turn::call& call, const found_loop& found) {
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

    // For those who load the thread later; refused messages are kept from later requests by it.
    void note_failure(session::changes& change, stop_reason reason) const {
        conversation_.add_failure(
            change, {.code = std::string(error_code(reason)),
                     .message = std::string(describe(reason)),
                     .refused = reason == stop_reason::model_rejected && model_round_.refused()}
        );
    }

    // A client must not mistake a server call for its own (specification S5), so the call gets a
    // result, on the wire only.
    void emit_lost_result(const call_record& call) {
        session::tool_call made;
        made.id = call.id;
        made.name = call.name;
        const session::message result =
            session::shown_missing_result(made, session::call_status::dead);
        sink_.emit(call_result{result.id, call.id, &result.content, true});
    }

    // The steps of a run with plugins.

    boost::asio::awaitable<stop_reason> run_hooked() {
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

    // From the first request to the last answer; whatever has happened, the clean-ups follow.
    boost::asio::awaitable<stop_reason> run_turn() {
        const stop_reason reason = co_await caught(run_steps());
        if (!model_round_.turn()) {
            co_return reason;
        }
        const stop_reason ended = co_await caught(append_partial(reason));
        co_return class_of(reason) == stop_class::failed ? reason : ended;
    }

    boost::asio::awaitable<stop_reason> append_partial(stop_reason reason) {
        const std::optional<stop_reason> failed = co_await append_answer();
        co_return failed.value_or(reason);
    }

    // What throws is an error of the turn.
    boost::asio::awaitable<stop_reason> caught(boost::asio::awaitable<stop_reason> steps) {
        try {
            co_return co_await std::move(steps);
        } catch (const std::exception& error) {
            if (stop_.requested()) {
                co_return stop_.reason(); // From a cancelled wait.
            }
            hooks_->turn().add_error(error.what());
        }
        co_return stop_reason::error;
    }

    // The answer as the plugins have left it, in unstored_.
    boost::asio::awaitable<std::optional<stop_reason>> append_answer() {
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

    boost::asio::awaitable<std::optional<stop_reason>> ask_hooked() {
        const bool first = answers_ == 0;
        std::optional<stop_reason> ended =
            co_await hooks_->before_request(model_round_.draft(first));
        if (!ended) {
            ended = co_await stream_hooked(first);
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

    boost::asio::awaitable<std::optional<stop_reason>> stream_hooked(bool first) {
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

    // After a whole answer, which is stored before on_after_request may do anything that has an
    // effect. `ended`: how the run ends without a further request; nullopt: the answer has calls.
    boost::asio::awaitable<std::optional<stop_reason>>
    follow_answer(std::optional<stop_reason> ended) {
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
            co_return ended; // The model is asked again once they are answered.
        }
        if (!next.requested && (ended || !denied)) {
            co_return ended.value_or(stop_reason::completed);
        }
        co_return ended ? count_round() : std::nullopt; // An answer with calls was counted.
    }

    // A plugin may have changed what the client was shown.
    boost::asio::awaitable<void> show_changed(const session::changes& change) {
        const std::optional<stop_reason> failed = co_await conversation_.load();
        if (failed) {
            services_.log.log(
                log_level::warning, "the client was not sent what plugins have changed",
                {{"run", request_.run_id}}
            );
            co_return;
        }
        session::thread_record thread = conversation_.thread();
        session::apply(thread, change);
        emit_snapshot(
            thread, change.branches.empty() ? conversation_.tip() : change.branches.back().value.tip
        );
    }

    [[nodiscard]] run_parts parts() noexcept {
        return {request_, services_, sink_, stop_, conversation_, tools_, hooks_};
    }

    run_request request_;
    loop_services services_;
    run_sink& sink_;
    stop_source& stop_;
    const run_tools tools_;
    conversation conversation_;
    std::unique_ptr<run_hooks> hooks_; ///< Null: no plugins.
    model_round model_round_{parts()};
    tool_round tool_round_{parts()};
    std::uint32_t answers_ = 0;                  ///< That held calls.
    turn_use used_;                              ///< By this user turn; tokens: by earlier runs.
    std::string detail_;                         ///< See note().
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
        if (!stop.requested()) {
            run->note(error.what());
        }
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
boost::asio::awaitable<void> run_agent(
    run_request request, loop_services services, run_sink& sink, stop_source& stop,
    memory_share memory
) {
    std::string run_id = request.run_id;
    logger& log = services.log;
    return drive(
        std::make_unique<agent_run>(std::move(request), services, sink, stop, std::move(memory)),
        std::move(run_id), stop, log
    );
}

} // namespace agui::runner
