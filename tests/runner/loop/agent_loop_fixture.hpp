#pragma once

#include "runner/base/model_circuit.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/model_history.hpp"
#include "tests/support/coroutine_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

namespace agui::runner {

/// A model's answer to one call.
struct scripted_turn {
    std::function<model_outcome(model_sink&)> answer;
    /// If true, the model waits after the answer's deltas until it is cancelled.
    bool hold = false;
};

/// A model that plays its turns and records its requests.
class fake_model final : public model_provider {
public:
    std::string provider_name;
    std::shared_ptr<model_circuit> own_circuit;
    bool has_bound_tools = false;
    bool takes_added_tools = false;
    std::deque<scripted_turn> turns;
    std::vector<std::vector<session::message>> histories;
    std::vector<std::optional<tool_choice>> choices;
    std::vector<std::vector<std::string>> offered;
    std::vector<bool> added; ///< model_request::adds_tools

    [[nodiscard]] bool binds_tools() const noexcept override { return has_bound_tools; }
    [[nodiscard]] bool adds_tools() const noexcept override { return takes_added_tools; }
    [[nodiscard]] std::string_view name() const noexcept override { return provider_name; }
    [[nodiscard]] std::shared_ptr<model_circuit> circuit() const noexcept override {
        return own_circuit;
    }

    boost::asio::awaitable<model_outcome>
    ask(const model_request& request, model_sink& sink) override {
        histories.push_back(*request.messages);
        choices.push_back(request.parameters.tool_choice);
        added.push_back(request.adds_tools);
        offered.emplace_back();
        for (const tool_definition& tool : *request.tools) {
            offered.back().push_back(tool.name);
        }
        if (turns.empty()) {
            throw std::logic_error("the model was asked more often than the test expects");
        }
        const scripted_turn turn = std::move(turns.front());
        turns.pop_front();
        const model_outcome outcome = turn.answer(sink);
        if (turn.hold) {
            boost::asio::steady_timer never(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
            co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return model_failure{model_failure::kind::cancelled, 0, {}};
        }
        co_return outcome;
    }
};

/// Records in one list what a run shows and stores, because P3 is about the order.
class recording_sink final : public run_sink {
public:
    std::vector<std::string> steps;
    std::vector<session::changes> commits;
    std::vector<session::failed_attempt> attempts;
    run_end end;
    int finishes = 0;
    int loads = 0;
    std::function<result<session::thread_record>()> thread;
    std::function<void()> on_load;
    int fail_commit = -1; ///< Counted from 0, the commit that fails; -1 if none does.
    errc fails_with = errc::store_unavailable;
    std::vector<session::message> waiting; ///< User messages that the run may take.
    bool withdraws = false;                ///< They are gone when the run takes them.
    std::function<void(const std::string&)> on_step;

    void emit(const runner_event& event) override {
        std::visit([this](const auto& one) { note(text(one)); }, event);
    }

    void emit_inner(std::string_view subagent_run_id, const runner_event& event) override {
        std::visit(
            [&](const auto& one) { note(std::string(subagent_run_id) + "| " + text(one)); }, event
        );
    }

    void keep_attempt(session::failed_attempt attempt) noexcept override {
        attempts.push_back(std::move(attempt));
    }

    boost::asio::awaitable<result<void>> commit(session::changes change) override {
        note("commit");
        commits.push_back(std::move(change));
        if (static_cast<int>(commits.size()) - 1 == fail_commit) {
            if (fails_with != errc::store_unavailable) { // Certainly not stored.
                commits.pop_back();
                fail_commit = -1;
            }
            co_return failure{fails_with, "full", {}, {}};
        }
        co_return result<void>();
    }

    boost::asio::awaitable<result<session::thread_record>> load_thread() override {
        ++loads;
        if (on_load) {
            on_load();
        }
        co_return thread();
    }

    bool has_messages() const noexcept override { return !waiting.empty(); }

    user_messages take_messages() override {
        user_messages taken;
        taken.messages = std::exchange(waiting, {});
        if (withdraws) {
            taken.messages.clear();
        }
        return taken;
    }

    boost::asio::awaitable<void> finish(session::changes change, run_end ended) override {
        ++finishes;
        end = std::move(ended);
        note("finish");
        commits.push_back(std::move(change));
        co_return;
    }

private:
    void note(std::string step) {
        steps.push_back(step);
        if (on_step) {
            on_step(step);
        }
    }
    static std::string text(const text_delta& e) { return "text " + std::string(e.text); }
    static std::string text(const reasoning_delta& e) { return "reasoning " + std::string(e.text); }
    static std::string text(const call_started& e) {
        return "call " + std::string(e.call_id) + " " + std::string(e.name) +
               (e.external ? " external" : " server");
    }
    static std::string text(const call_arguments& e) {
        return "args " + std::string(e.call_id) + " " + std::string(e.delta);
    }
    static std::string text(const call_ended& e) { return "ended " + std::string(e.call_id); }
    static std::string text(const turn_ended&) { return "turn ended"; }
    static std::string text(const call_executing& e) {
        return "executing " + std::string(e.call_id);
    }
    static std::string text(const call_result& e) {
        return "result " + std::string(e.call_id) + (e.failed ? " failed " : " ") +
               session::text_of(*e.content);
    }
    static std::string text(const reply_segment& e) {
        return "segment " + boost::json::serialize(*e.segment);
    }
    static std::string text(const state_shown& e) {
        return "state " + std::string(e.state->view());
    }
    static std::string text(const messages_snapshot& e) {
        return "snapshot " + std::to_string(e.messages->size());
    }
    static std::string text(const activity_shown& e) { return "activity " + e.activity->id; }
    static std::string text(const activity_patched& e) {
        return "activity " + std::string(e.message_id) + " patched";
    }
    static std::string text(const step_started& e) { return "step " + std::string(e.name); }
    static std::string text(const step_finished& e) {
        return "step " + std::string(e.name) + " ended";
    }
    static std::string text(const custom_sent& e) { return "custom " + std::string(e.name); }
    static std::string text(const raw_sent& e) { return "raw " + std::string(e.event); }
    static std::string text(const subagent_started& e) {
        std::string text = "began ";
        text.append(e.subagent_run_id).append(" ").append(e.name).append(" for ");
        return text.append(e.parent_call_id).append(" of ").append(e.parent_message_id);
    }
    static std::string text(const subagent_ended& e) {
        constexpr std::string_view how[] = {"finished", "suspended", "failed"};
        std::string text(how[static_cast<std::size_t>(e.how)]);
        return text.append(" ")
            .append(e.subagent_run_id)
            .append(" ")
            .append(e.result)
            .append(e.code);
    }
};

inline scripted_turn says(std::string text, finish_reason reason = finish_reason::stop) {
    return {[=](model_sink& sink) -> model_outcome {
        sink.on_text(text);
        return model_answer{reason, {}};
    }};
}

struct made_call {
    std::string id;
    std::string name;
    std::string arguments;
};

inline scripted_turn
calls(std::vector<made_call> made, finish_reason reason = finish_reason::tool_calls) {
    return {[=](model_sink& sink) -> model_outcome {
        for (std::size_t i = 0; i < made.size(); ++i) {
            sink.on_call(i, made[i].id, made[i].name);
            if (!made[i].arguments.empty()) {
                sink.on_call_arguments(i, made[i].arguments);
            }
        }
        return model_answer{reason, {}};
    }};
}

inline scripted_turn fails(model_failure::kind what) {
    return {[=](model_sink&) -> model_outcome {
        return model_failure{what, 0, "why"};
    }};
}

inline tool_function returns(std::string text) {
    return [text](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{tool_outcome::kind::result, text + call.arguments_text};
    };
}

/// A thread with one user message, a model, and three tools of the server.
class AgentLoop : public test::coroutine_test {
protected:
    AgentLoop() {
        tools.add({"weather", "The weather", {}}, returns("sunny "));
        tools.add(
            {"screen", "Found to be the browser's", {}},
            [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
                co_return tool_outcome{tool_outcome::kind::external, std::string()};
            }
        );
        tools.add(
            {"broken", "Throws", {}},
            [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
                throw std::runtime_error("a secret detail");
                co_return tool_outcome{};
            }
        );
        request.key.thread_id = "t1";
        request.run_id = "r1";
        request.external_tools = {{"change_background", "Paints", {}}};
        request.new_user_turn = true;
        session::changes change;
        session::stored_message node;
        node.message.id = "u1";
        node.message.content = std::string("Hello");
        change.messages.push_back(node);
        change.branches.push_back({0, {0, 0}});
        session::apply(*given, change);
        request.thread = given;
        sink.thread = [this] {
            return stored();
        };
    }

    void play() {
        loop_services services{model, tools, ids, time, log, max_result_bytes};
        services.prefixes = prefixes;
        run(run_agent(request, services, sink, stop));
    }

    // Prepares the run of a request that answers the interrupt which the last run has left open.
    void answer_interrupt(boost::json::value payload) {
        *given = stored();
        sink.commits.clear();
        sink.steps.clear();
        session::history_input input;
        input.is_server_tool = [](std::string_view) {
            return true;
        };
        ASSERT_EQ(sink.end.approvals.size(), 1U);
        input.approvals = {{sink.end.approvals[0].id, false, std::move(payload)}};
        auto plan = session::plan_history(*given, input, {});
        ASSERT_TRUE(plan.has_value());
        request.run_id += "+";
        for (session::call_record& call : plan->change.calls) {
            call.run_id = request.run_id;
        }
        session::apply(*given, plan->change);
        request.thread = given;
        request.next = plan->next;
        request.approved = plan->approved;
    }

    // The thread after the run, as the store would have it.
    session::thread_record stored() {
        session::thread_record thread = *given;
        for (const session::changes& change : sink.commits) {
            session::apply(thread, change);
        }
        return thread;
    }

    session::call_status status_of(std::string_view id) {
        const session::thread_record thread = stored();
        const session::call_record* call = thread.find_call(id);
        if (call == nullptr) {
            throw std::logic_error("no such call");
        }
        return call->status;
    }

    fake_model model;
    tool_registry tools;
    sequential_ids ids;
    manual_clock time;
    memory_logger log;
    recording_sink sink;
    stop_source stop{context().get_executor()};
    std::shared_ptr<session::thread_record> given = std::make_shared<session::thread_record>();
    run_request request;
    std::size_t max_result_bytes = 1000;
    prefix_watch* prefixes = nullptr;
};

} // namespace agui::runner
