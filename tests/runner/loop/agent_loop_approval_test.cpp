#include "tests/runner/loop/agent_loop_fixture.hpp"

#include "session/history/missing_result.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace agui::runner {
namespace {

using session::call_status;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

using steps = std::vector<std::string>;

const std::string unknown_effect =
    R"({"error":"The call was interrupted; whether it had any effect is unknown."})";
const std::string not_executed = R"({"error":"The call was cancelled before it was executed."})";

class AgentLoopApproval : public AgentLoop {
protected:
    AgentLoopApproval() {
        add("order", {.approval = approval_rule::always});
        add("look", {.approval = approval_rule::destructive, .destructive = false});
        add("erase", {.approval = approval_rule::destructive});
        add("pay", {.needs_approval = [](const tool_invocation& call) {
                const auto* const amount = call.arguments.if_contains("amount");
                if (amount == nullptr) {
                    throw std::runtime_error("no amount");
                }
                return amount->to_number<int>() > 100;
            }});
        boost::json::value schema{
            {"type", "object"},
            {"properties", {{"count", {{"type", "integer"}}}}},
            {"required", boost::json::array{"count"}},
        };
        tools.add(
            {"strict", "Has a schema", schema}, returns("done "),
            {.approval = approval_rule::always}
        );
    }

    void add(const std::string& name, tool_options options) {
        tools.add(
            {name, "A tool", {}},
            [this, name](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
                executed.push_back(name + " " + call.arguments_text);
                if (on_execute) {
                    on_execute();
                }
                co_return tool_outcome{tool_outcome::kind::result, "done"};
            },
            std::move(options)
        );
    }

    // A thread with a turn whose calls of `order` became calls of this run by their approval.
    void begin_with(std::vector<std::string> approved) {
        session::changes change;
        session::stored_message node;
        node.parent = 0;
        node.message.id = "a1";
        node.message.role = session::role::assistant;
        for (const std::string id : {"c1", "c2"}) {
            node.message.tool_calls.push_back({id, "order", "{}", {}, {}});
            const bool is_own = std::ranges::find(approved, id) != approved.end();
            change.calls.push_back(
                {id, "order", is_own ? "r1" : "r0", session::call_owner::server,
                 is_own ? call_status::approved : call_status::asked, 1}
            );
            if (is_own) {
                request.approved.push_back({id, std::nullopt, "digest of " + id});
            }
        }
        change.messages.push_back(node);
        change.branches.push_back({0, {1, 0}});
        session::apply(*given, change);
    }

    std::vector<std::string> executed;
    std::function<void()> on_execute;
};

TEST_F(AgentLoopApproval, EndsTheRunAfterTheMessages) {
    model.turns = {calls({{"c1", "order", R"({"item":1})"}})};
    session::changes state;
    state.state = json_text(R"({"a":1})");
    session::apply(*given, state);

    play();

    EXPECT_EQ(
        sink.steps, (steps{
                        "call c1 order server", R"(args c1 {"item":1})", "turn ended", "commit",
                        "snapshot 2", R"(state {"a":1})", "finish"
                    })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
    EXPECT_EQ(class_of(sink.end.reason), stop_class::success);
    EXPECT_EQ(status_of("c1"), call_status::asked);
    ASSERT_EQ(sink.end.approvals.size(), 1U);
    EXPECT_EQ(sink.end.approvals[0].call_id, "c1");
    EXPECT_EQ(sink.end.approvals[0].tool, "order");
    EXPECT_EQ(sink.end.approvals[0].arguments, R"({"item":1})");
    EXPECT_THAT(executed, IsEmpty());
    ASSERT_EQ(sink.commits.size(), 2U);
    EXPECT_EQ(sink.commits[0].calls[0].status, call_status::held);
    EXPECT_EQ(sink.commits[1].events[0].type, "interrupt.raised");
}

TEST_F(AgentLoopApproval, ExecutesTheOtherCallsOfTheTurnFirst) {
    model.turns = {
        calls({{"c1", "order", "{}"}, {"c2", "weather", "{}"}, {"c3", "change_background", "{}"}})
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
    EXPECT_EQ(status_of("c1"), call_status::asked);
    EXPECT_EQ(status_of("c2"), call_status::answered);
    EXPECT_EQ(status_of("c3"), call_status::pending);
    EXPECT_EQ(sink.end.pending_call_ids, (steps{"c3"}));
    EXPECT_FALSE(sink.end.external_call_open);
}

struct rule_case {
    std::string tool;
    std::string arguments;
    approval_rule agent;
    bool asks;
};

TEST_F(AgentLoopApproval, IsNeededByTheStricterRuleOfToolAndAgent) {
    const std::vector<rule_case> cases{
        {"weather", "{}", approval_rule::never, false},
        {"weather", "{}", approval_rule::destructive, true},
        {"weather", "{}", approval_rule::always, true},
        {"look", "{}", approval_rule::destructive, false},
        {"look", "{}", approval_rule::always, true},
        {"erase", "{}", approval_rule::never, true},
        {"order", "{}", approval_rule::never, true},
        {"pay", R"({"amount":1})", approval_rule::never, false},
        {"pay", R"({"amount":101})", approval_rule::never, true},
        {"pay", "{}", approval_rule::never, true}, // The predicate throws.
        // Calls that are refused anyway.
        {"imagined", "{}", approval_rule::always, false},
        {"order", "no JSON", approval_rule::always, false},
        {"strict", "{}", approval_rule::always, false},
        {"strict", R"({"count":1})", approval_rule::never, true},
    };
    int number = 0;
    for (const rule_case& each : cases) {
        request.agent.approval = each.agent;
        request.run_id = "run " + std::to_string(++number);
        request.thread = given;
        const std::string id = "c" + std::to_string(number);
        model.turns = {calls({{id, each.tool, each.arguments}}), says("Done")};
        sink.commits.clear();
        stop_source unstopped(context().get_executor());
        run(run_agent(request, {model, tools, ids, time, log}, sink, unstopped));
        EXPECT_EQ(sink.end.reason == stop_reason::approval_needed, each.asks)
            << each.tool << each.arguments << static_cast<int>(each.agent);
        model.turns.clear();
    }
}

TEST_F(AgentLoopApproval, StoresTheStartBeforeTheToolRuns) {
    begin_with({"c1"});
    model.turns = {says("Ordered")};
    on_execute = [this] {
        EXPECT_EQ(status_of("c1"), call_status::executing);
    };

    play();

    EXPECT_EQ(
        sink.steps, (steps{
                        "snapshot 2", "executing c1", "commit", "commit", "result c1 done",
                        "text Ordered", "turn ended", "finish"
                    })
    );
    EXPECT_EQ(executed, (steps{"order {}"}));
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_EQ(stored().nodes.at(2).message.approval_answer, "digest of c1");
}

TEST_F(AgentLoopApproval, GivesTheToolTheEditedArgumentsAndTellsTheModel) {
    begin_with({"c1"});
    request.approved[0].arguments = R"({"item":2})";
    model.turns = {says("Ordered")};

    play();

    EXPECT_EQ(executed, (steps{R"(order {"item":2})"}));
    EXPECT_THAT(sink.steps, Contains("result c1 done"));
    const std::string told = session::text_of(model.histories.at(0).at(2).content);
    EXPECT_EQ(told, "[A person changed the arguments of this call to {\"item\":2}]\n\ndone");
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls[0].arguments, "{}");
}

TEST_F(AgentLoopApproval, ShowsTheCallsThatTheRequestHasRefused) {
    begin_with({"c1"});
    session::changes denied;
    session::judged_answer answer;
    answer.call = given->find_call("c2");
    answer.becomes = call_status::denied;
    session::stored_message node;
    node.parent = 1;
    node.message = session::refused_result(answer);
    denied.messages.push_back(node);
    denied.branches.push_back({0, {2, 0}});
    session::apply(*given, denied);
    request.refused_calls = {{"c2", node.message.id}};
    model.turns = {says("Well")};

    play();

    ASSERT_GE(sink.steps.size(), 3U);
    EXPECT_EQ(sink.steps[0], "snapshot 2"); // A client would show a second result twice.
    EXPECT_EQ(sink.steps[1], R"(result c2 failed {"error":"The call was not allowed."})");
    EXPECT_EQ(sink.steps[2], "executing c1");
}

TEST_F(AgentLoopApproval, ExecutesWhatIsApprovedAndAsksForTheRestAgain) {
    begin_with({"c1"});
    request.next = session::next_step::wait_for_approval;

    play();

    EXPECT_EQ(executed.size(), 1U);
    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
    ASSERT_EQ(sink.end.approvals.size(), 1U);
    EXPECT_EQ(sink.end.approvals[0].call_id, "c2");
    EXPECT_THAT(model.histories, IsEmpty());
    EXPECT_EQ(sink.steps.back(), "finish");
}

TEST_F(AgentLoopApproval, ExecutesWhatIsApprovedWhileTheCallerStillHasToAnswer) {
    begin_with({"c1"});
    request.next = session::next_step::wait_for_answers;

    play();

    EXPECT_EQ(executed.size(), 1U);
    EXPECT_EQ(sink.end.reason, stop_reason::partial_answers);
}

TEST_F(AgentLoopApproval, ShowsTheMessagesAfterTheExecutionWhereTheClientLacksSome) {
    begin_with({"c1"});
    request.next = session::next_step::wait_for_answers;
    request.snapshot = true;

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::partial_answers);
    ASSERT_GE(sink.steps.size(), 2U);
    EXPECT_EQ(sink.steps[sink.steps.size() - 2], "snapshot 3") << "with the result";
}

TEST_F(AgentLoopApproval, FailsARequestWhoseAnswersAreRefused) {
    request.next = session::next_step::refuse;
    request.refusal = "Because.";

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::resume_rejected);
    EXPECT_EQ(class_of(sink.end.reason), stop_class::failed);
    EXPECT_EQ(sink.end.refusal, "Because.");
    EXPECT_EQ(stored().nodes.size(), 1U); // No note of the failure: the thread is as it was.
}

TEST_F(AgentLoopApproval, OfARunThatIsStoppedBeforeTheToolStartsIsCancelled) {
    begin_with({"c1", "c2"});
    (void)stop.request(stop_reason::cancelled);

    play();

    EXPECT_THAT(executed, IsEmpty());
    EXPECT_EQ(status_of("c1"), call_status::cancelled);
    EXPECT_THAT(sink.steps, Contains("result c1 failed " + not_executed));
}

TEST_F(AgentLoopApproval, OfARunThatIsStoppedWhileItsStartIsStoredIsCancelled) {
    begin_with({"c1"});
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_THAT(executed, IsEmpty());
    EXPECT_EQ(status_of("c1"), call_status::cancelled);
}

TEST_F(AgentLoopApproval, OfARunThatIsStoppedWhileTheToolRunsIsIndeterminate) {
    begin_with({"c1", "c2"});
    request.agent.max_parallel_tools = 1;
    on_execute = [this] {
        (void)stop.request(stop_reason::cancelled);
    };

    play();

    EXPECT_EQ(executed.size(), 1U);
    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c2"), call_status::indeterminate);
    EXPECT_THAT(sink.steps, Contains("result c2 failed " + unknown_effect));
}

TEST_F(AgentLoopApproval, IsOpenAgainIfTheRunFailsBeforeTheToolStarts) {
    begin_with({"c1"});
    sink.fail_commit = 0;

    play();

    EXPECT_THAT(executed, IsEmpty());
    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_EQ(sink.commits.back().calls[0].status, call_status::asked);
    EXPECT_THAT(sink.steps, Not(Contains(::testing::StartsWith("result c1"))));
}

TEST_F(AgentLoopApproval, IsIndeterminateIfTheResultCannotBeStored) {
    begin_with({"c1"});
    sink.fail_commit = 1;

    play();

    EXPECT_EQ(executed.size(), 1U);
    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_EQ(sink.commits.back().calls[0].status, call_status::indeterminate);
    EXPECT_THAT(sink.steps, Contains("result c1 failed " + unknown_effect));
}

TEST_F(AgentLoopApproval, IsNotAskedForByARunThatEndsInAnotherWay) {
    model.turns = {calls({{"c1", "order", "{}"}, {"c2", "weather", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "executing c2") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_THAT(sink.end.approvals, IsEmpty());
}

} // namespace
} // namespace agui::runner
