// Agents that an agent calls as tools.
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include "runner/loop/agent_tool.hpp"
#include "session/history/history_plan.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/json/parse.hpp>

#include <gmock/gmock.h>

#include <map>

namespace agui::runner {
namespace {

using session::call_status;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using steps = std::vector<std::string>;

const std::string task = R"({"task":"Look it up."})";

token_usage used_tokens(std::int64_t input) {
    token_usage usage;
    usage.provider = "p";
    usage.model = "m";
    usage.input_tokens = input;
    return usage;
}

scripted_turn says_using(std::string text, std::int64_t input) {
    return {[=](model_sink& sink) -> model_outcome {
        sink.on_text(text);
        return model_answer{finish_reason::stop, used_tokens(input)};
    }};
}

// Hides what models say.
class hiding_plugin final : public plugin {
public:
    boost::asio::awaitable<void>
    on_message_append(plugin_turn& /*turn*/, appended_message& appended) override {
        if (appended.message.role == session::role::assistant) {
            appended.message.content = std::string("hidden");
        }
        co_return;
    }
};

class AgentLoopSubagents : public AgentLoop {
protected:
    // An agent with a model of its own, which may call `others`.
    std::shared_ptr<called_agent> agent(
        const std::string& id, fake_model& its_model,
        std::vector<std::shared_ptr<called_agent>> others = {}
    ) {
        auto made = std::make_shared<called_agent>();
        made->settings.id = id;
        made->settings.instructions = "You are " + id + ".";
        made->model = &its_model;
        let_call(made->settings, std::move(others));
        return made;
    }

    static void
    let_call(agent_settings& caller, std::vector<std::shared_ptr<called_agent>> others) {
        std::vector<server_tool> own;
        for (const auto& each : others) {
            caller.agents[each->settings.id] = each;
            own.push_back(agent_tool(each->settings.id, *each));
        }
        caller.own_tools = tool_registry(std::move(own)).snapshot();
    }

    // The next request: answers to calls of the caller, and approvals of all calls that wait.
    void go_on(
        std::map<std::string, std::string> answers, bool approves = false,
        const std::string& payload = R"({"approved":true})"
    ) {
        ++number;
        session::thread_record thread = stored();
        session::history_input input;
        input.is_server_tool = [](std::string_view) {
            return true;
        };
        input.offered_tools = {"change_background"};
        for (const auto& [id, text] : answers) {
            session::message answer;
            answer.id = "answer to " + id;
            answer.role = session::role::tool;
            answer.tool_call_id = id;
            answer.content = text;
            input.messages.push_back(answer);
        }
        const auto open =
            session::open_approvals(thread, thread.branches[0].tip, std::chrono::seconds(1000));
        for (const session::approval& each : open) {
            if (approves) {
                input.approvals.push_back({each.id, false, boost::json::parse(payload)});
            }
        }
        input.now = 2000;
        session::history_plan plan = session::plan_history(thread, input, {}).value();
        for (session::call_record& call : plan.change.calls) {
            if (call.run_id.empty()) {
                call.run_id = "r" + std::to_string(number);
            }
        }
        session::apply(thread, plan.change);
        *given = thread;
        sink.commits.clear();
        sink.steps.clear();
        request.run_id = "r" + std::to_string(number);
        request.thread = given;
        request.next = plan.next;
        request.approved = plan.approved;
        request.new_user_turn = plan.new_user_turn;
        next_stop.emplace(context().get_executor());
        run(run_agent(request, {model, tools, ids, time, log, max_result_bytes}, sink, *next_stop));
    }

    [[nodiscard]] std::string result_of(std::string_view call_id) {
        for (const session::stored_message& node : stored().nodes) {
            if (node.message.role == session::role::tool && node.message.tool_call_id == call_id) {
                return session::text_of(node.message.content);
            }
        }
        return "none";
    }

    fake_model inner;
    fake_model other;
    std::optional<stop_source> next_stop;
    int number = 1; ///< Of the run.
};

TEST_F(AgentLoopSubagents, WorkInsideTheRunOnTheirTaskAlone) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}}), says("So it is.")};
    inner.turns = {calls({{"c2", "weather", "{}"}}), says("Found.")};
    play();

    EXPECT_EQ(
        sink.steps, (steps{
                        "call c1 writer server",
                        "args c1 " + task,
                        "turn ended",
                        "commit",
                        "executing c1",
                        "began c1:agent writer for c1 of msg_1",
                        "c1:agent| call c2 weather server",
                        "c1:agent| args c2 {}",
                        "c1:agent| turn ended",
                        "commit",
                        "c1:agent| executing c2",
                        "commit",
                        "c1:agent| result c2 sunny {}",
                        "c1:agent| text Found.",
                        "c1:agent| turn ended",
                        "commit",
                        "finished c1:agent Found.",
                        "commit",
                        "result c1 Found.",
                        "text So it is.",
                        "turn ended",
                        "finish"
                    })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(test::outline(inner.histories[0]), ElementsAre("user c1:agent:task: Look it up."));
    EXPECT_THAT(model.histories[1], SizeIs(3)); // Nothing of the subagent.
    EXPECT_THAT(inner.offered[0], Not(Contains("writer")));
}

TEST_F(AgentLoopSubagents, WorkSideBySide) {
    let_call(request.agent, {agent("writer", inner), agent("reader", other)});
    model.turns = {
        calls({{"c1", "writer", task}, {"c2", "reader", task}, {"c3", "weather", "{}"}}),
        says("So it is.")
    };
    inner.turns = {calls({{"c1", "weather", "{}"}}), says("Written.")};
    other.turns = {calls({{"c1", "weather", "{}"}}), says("Read.")};
    play();

    EXPECT_EQ(result_of("c1"), "Written.");
    EXPECT_EQ(result_of("c2"), "Read.");
    EXPECT_EQ(result_of("c3"), "sunny {}");
    const session::thread_record thread = stored();
    EXPECT_THAT(thread.calls, SizeIs(5)); // All with ids of their own.
    EXPECT_EQ(thread.path(thread.branches[0].tip).size(), thread.nodes.size());
}

TEST_F(AgentLoopSubagents, CallEachOther) {
    let_call(request.agent, {agent("writer", inner, {agent("reader", other)})});
    model.turns = {calls({{"c1", "writer", task}}), says("So it is.")};
    inner.turns = {calls({{"c2", "reader", task}}), says("Written.")};
    other.turns = {says("Read.")};
    play();

    EXPECT_THAT(sink.steps, Contains(HasSubstr("began c2:agent reader for c2")));
    EXPECT_THAT(sink.steps, Contains("c2:agent| text Read."));
    EXPECT_THAT(sink.steps, Contains("c1:agent| result c2 Read."));
    EXPECT_EQ(result_of("c1"), "Written.");
}

TEST_F(AgentLoopSubagents, UsageIsThatOfTheRun) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}}), says_using("So it is.", 5)};
    inner.turns = {says_using("Found.", 7)};
    play();

    ASSERT_THAT(sink.end.usage, SizeIs(1));
    EXPECT_EQ(sink.end.usage[0].input_tokens, 12);
}

TEST_F(AgentLoopSubagents, TokensCountInTheLimitOfTheRun) {
    let_call(request.agent, {agent("writer", inner)});
    request.agent.limits.max_tokens = 100;
    model.turns = {calls({{"c1", "writer", task}})};
    inner.turns = {says_using("Found.", 100)};
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_EQ(result_of("c1"), "Found.");
}

TEST_F(AgentLoopSubagents, RoundsCountInTheLimitOfTheRun) {
    let_call(request.agent, {agent("writer", inner)});
    request.agent.limits.max_turn_rounds = 2;
    model.turns = {calls({{"c1", "writer", task}}), says("So it is.")};
    inner.turns = {calls({{"c2", "weather", "{}"}}), calls({{"c3", "weather", "{}"}})};
    play();

    EXPECT_THAT(sink.steps, Contains("failed c1:agent max_rounds_exceeded"));
    EXPECT_EQ(status_of("c3"), call_status::dead);
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoopSubagents, OneThatFailsGivesAnErrorResult) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}}), says("A pity.")};
    inner.turns = {fails(model_failure::kind::timeout)};
    play();

    EXPECT_THAT(sink.steps, Contains("failed c1:agent model_timeout"));
    EXPECT_THAT(sink.steps, Contains(HasSubstr("result c1 failed The agent did not finish")));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(stored().nodes.size(), 4U); // No note of a failed run.
}

TEST_F(AgentLoopSubagents, WhatAPluginHasChangedIsShownAtTheEndOfTheRun) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}}), says("So it is.")};
    inner.turns = {says("A secret.")};
    const plugin_list plugins{std::make_shared<hiding_plugin>()};
    loop_services services{model, tools, ids, time, log, max_result_bytes};
    services.plugins = &plugins;
    run(run_agent(request, services, sink, stop));

    EXPECT_EQ(result_of("c1"), "hidden");
    ASSERT_GE(sink.steps.size(), 2U);
    EXPECT_EQ(sink.steps[sink.steps.size() - 2], "snapshot 5");
}

TEST_F(AgentLoopSubagents, AreBoundedInNumber) {
    let_call(request.agent, {agent("writer", inner)});
    std::vector<made_call> made;
    for (std::uint32_t i = 0; i <= subagent_runs_max; ++i) {
        made.push_back({"c" + std::to_string(i), "writer", task});
        inner.turns.push_back(says("Done."));
    }
    inner.turns.pop_back();
    model.turns = {calls(made), says("So it is.")};
    play();

    EXPECT_EQ(result_of(made.back().id), "No further agent can be called in this run.");
}

TEST_F(AgentLoopSubagents, AStopEndsThemFirst) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}})};
    inner.turns = {says("Half")};
    inner.turns[0].hold = true;
    sink.on_step = [this](const std::string& step) {
        if (step == "c1:agent| text Half") {
            stop.request(stop_reason::run_timeout);
        }
    };
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::run_timeout);
    EXPECT_THAT(sink.steps, Contains("failed c1:agent run_timeout"));
    EXPECT_EQ(sink.steps.back(), "finish");
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(session::text_of(stored().nodes.back().message.content), "Half");
}

TEST_F(AgentLoopSubagents, ACallOfTheCallerEndsTheRunAndItsAnswerGoesOn) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}}), says("So it is.")};
    inner.turns = {calls({{"c2", "change_background", "{}"}}), says("Painted.")};
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_THAT(sink.end.pending_call_ids, ElementsAre("c2"));
    EXPECT_THAT(sink.steps, Contains("suspended c1:agent "));
    EXPECT_THAT(sink.steps, Not(Contains(HasSubstr("result"))));
    EXPECT_EQ(status_of("c1"), call_status::suspended);
    EXPECT_EQ(status_of("c2"), call_status::pending);

    go_on({{"c2", "blue"}});

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(
        sink.steps, (steps{
                        "snapshot 4", "executing c1", "began c1:agent writer for c1 of msg_1",
                        "c1:agent| text Painted.", "c1:agent| turn ended", "commit",
                        "finished c1:agent Painted.", "commit", "result c1 Painted.",
                        "text So it is.", "turn ended", "finish"
                    })
    );
    EXPECT_EQ(test::outline(inner.histories[1]).back(), "tool c2: blue");
    EXPECT_EQ(status_of("c1"), call_status::answered);
}

TEST_F(AgentLoopSubagents, OneGoesOnWhileAnotherStillWaits) {
    let_call(request.agent, {agent("writer", inner), agent("reader", other)});
    model.turns = {calls({{"c1", "writer", task}, {"c2", "reader", task}}), says("So it is.")};
    inner.turns = {calls({{"c3", "change_background", "{}"}}), says("Written.")};
    other.turns = {calls({{"c4", "change_background", "{}"}}), says("Read.")};
    play();
    EXPECT_THAT(sink.end.pending_call_ids, ElementsAre("c3", "c4"));

    go_on({{"c4", "blue"}});

    EXPECT_EQ(sink.end.reason, stop_reason::partial_answers);
    EXPECT_EQ(result_of("c2"), "Read.");
    EXPECT_EQ(status_of("c1"), call_status::suspended);
    EXPECT_EQ(status_of("c3"), call_status::pending);
    EXPECT_THAT(model.histories, SizeIs(1));

    go_on({{"c3", "red"}});

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(result_of("c1"), "Written.");
    EXPECT_EQ(test::outline(model.histories[1]).back(), "tool c2: Read.")
        << "in the order of the calls";
}

TEST_F(AgentLoopSubagents, AnApprovalEndsTheRunAndItsAnswerGoesOn) {
    tools.add({"order", "", {}}, returns("ordered "), {.approval = approval_rule::always});
    let_call(request.agent, {agent("writer", inner, {agent("reader", other)})});
    model.turns = {
        calls({{"c1", "writer", task}, {"c9", "change_background", "{}"}}), says("Yes.")
    };
    inner.turns = {calls({{"c2", "reader", task}}), says("Written.")};
    other.turns = {calls({{"c3", "order", "{}"}}), says("Ordered.")};
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
    ASSERT_THAT(sink.end.approvals, SizeIs(1));
    EXPECT_EQ(sink.end.approvals[0].subagent_run_id, "c2:agent");
    EXPECT_THAT(sink.steps, Contains("suspended c2:agent "));
    EXPECT_THAT(sink.steps, Contains("suspended c1:agent "));
    EXPECT_EQ(status_of("c1"), call_status::suspended);
    EXPECT_EQ(status_of("c2"), call_status::suspended);
    EXPECT_EQ(status_of("c3"), call_status::asked);
    EXPECT_EQ(status_of("c9"), call_status::pending);

    go_on({{"c9", "blue"}}, true);

    EXPECT_THAT(sink.steps, Contains("c2:agent| result c3 ordered {}"));
    EXPECT_EQ(result_of("c1"), "Written.");
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(status_of("c3"), call_status::answered);
}

TEST_F(AgentLoopSubagents, AQuestionOfAToolEndsTheRunAndItsAnswerGoesOn) {
    tools.add(
        {"book", "", {}},
        [](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
            if (call.inputs.size() < 2) {
                co_return tool_outcome::ask({"Which?", {{"type", "object"}}, {}});
            }
            co_return tool_outcome{tool_outcome::kind::result, "booked"};
        },
        {.approval = approval_rule::always}
    );
    let_call(request.agent, {agent("writer", inner, {agent("reader", other)})});
    model.turns = {calls({{"c1", "writer", task}}), says("Yes.")};
    inner.turns = {calls({{"c2", "reader", task}}), says("Written.")};
    other.turns = {calls({{"c3", "book", "{}"}}), says("Booked.")};
    play();
    ASSERT_THAT(sink.end.approvals, SizeIs(1));
    EXPECT_EQ(sink.end.approvals[0].question, nullptr);
    const steps approvals{R"({"approved":true})", R"({"a":1})"};
    for (const std::string& payload : approvals) {
        go_on({}, true, payload);
        EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
        ASSERT_THAT(sink.end.approvals, SizeIs(1));
        EXPECT_NE(sink.end.approvals[0].question, nullptr);
        EXPECT_EQ(sink.end.approvals[0].subagent_run_id, "c2:agent");
        EXPECT_EQ(status_of("c1"), call_status::suspended);
        EXPECT_EQ(status_of("c3"), call_status::asked);
    }

    go_on({}, true, R"({"b":2})");

    EXPECT_THAT(sink.steps, Contains("c2:agent| result c3 booked"));
    EXPECT_EQ(result_of("c1"), "Written.");
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(status_of("c3"), call_status::answered);
    EXPECT_THAT(other.histories, SizeIs(2));
}

TEST_F(AgentLoopSubagents, AnEditedTaskIsKeptForALaterRun) {
    request.agent.approval = approval_rule::always;
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}}), says("So it is.")};
    inner.turns = {calls({{"c2", "change_background", "{}"}}), says("Painted.")};
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);

    go_on({}, true, R"({"approved":true,"editedArgs":{"task":"Paint it."}})");
    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(status_of("c1"), call_status::suspended);
    go_on({{"c2", "blue"}});

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    ASSERT_THAT(inner.histories, SizeIs(2));
    EXPECT_THAT(
        test::outline(inner.histories[1]),
        ElementsAre(
            "user c1:agent:task: Paint it.", "assistant msg_2:  [c2 change_background({})]",
            "tool c2: blue"
        )
    );
}

TEST_F(AgentLoopSubagents, AStopLeavesNothingThatWaits) {
    tools.add({"order", "", {}}, returns("ordered "), {.approval = approval_rule::always});
    let_call(request.agent, {agent("writer", inner), agent("reader", other)});
    model.turns = {calls({{"c1", "writer", task}, {"c2", "reader", task}})};
    inner.turns = {calls({{"c3", "order", "{}"}})};
    other.turns = {says("Half")};
    other.turns[0].hold = true;
    sink.on_step = [this](const std::string& step) {
        if (step == "suspended c1:agent ") {
            stop.request(stop_reason::cancelled);
        }
    };
    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    for (const std::string id : {"c1", "c2", "c3"}) {
        EXPECT_EQ(status_of(id), call_status::dead) << id;
    }
}

TEST_F(AgentLoopSubagents, AnApprovedCallIsAskedAboutAgainIfTheServerShutsDownBeforeIt) {
    tools.add({"order", "", {}}, returns("ordered "), {.approval = approval_rule::always});
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}})};
    inner.turns = {calls({{"c3", "order", "{}"}})};
    play();
    sink.on_step = [this](const std::string& step) {
        if (step == "executing c1") {
            next_stop->request(stop_reason::shutdown);
        }
    };

    go_on({}, true);

    EXPECT_EQ(sink.end.reason, stop_reason::shutdown);
    EXPECT_EQ(status_of("c3"), call_status::asked);
    EXPECT_EQ(status_of("c1"), call_status::suspended);
}

TEST_F(AgentLoopSubagents, OneThatCannotBeStoredEndsTheRun) {
    let_call(request.agent, {agent("writer", inner)});
    model.turns = {calls({{"c1", "writer", task}})};
    inner.turns = {calls({{"c2", "weather", "{}"}})};
    sink.fail_commit = 1;
    play();

    EXPECT_THAT(sink.steps, Contains("failed c1:agent store_unavailable"));
    EXPECT_THAT(log.lines(), Not(IsEmpty()));
}

} // namespace
} // namespace agui::runner
