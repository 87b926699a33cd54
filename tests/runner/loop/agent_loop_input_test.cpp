// Tools that ask a person for input.
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include "session/history/input_note.hpp"
#include "session/history/missing_result.hpp"

#include <gmock/gmock.h>

namespace agui::runner {
namespace {

using session::call_status;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

using values = std::vector<boost::json::value>;

class AgentLoopInput : public AgentLoop {
protected:
    AgentLoopInput() {
        add("book", approval_rule::never);
        add("order", approval_rule::always);
    }

    // A tool that asks `questions` times and then gives a result.
    void add(const std::string& name, approval_rule approval) {
        tools.add(
            {name, "A tool", {}},
            [this, name](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
                executed.push_back(name + " " + call.arguments_text);
                inputs.push_back(call.inputs);
                if (on_execute) {
                    on_execute();
                }
                if (call.inputs.size() < questions) {
                    session::input_question asked = question;
                    asked.message += std::to_string(call.inputs.size() + 1);
                    co_return tool_outcome::ask(std::move(asked));
                }
                co_return tool_outcome{tool_outcome::kind::result, "done"};
            },
            {.approval = approval}
        );
    }

    void answer(boost::json::value payload) {
        answer_interrupt(std::move(payload));
        play();
    }

    std::size_t questions = 1;
    session::input_question question{"Question ", {{"type", "object"}}, {{"a", 1}}};
    std::vector<std::string> executed;
    std::vector<values> inputs;
    std::function<void()> on_execute;
};

TEST_F(AgentLoopInput, EndsTheRunWithTheQuestionOfItsTool) {
    model.turns = {calls({{"c1", "book", R"({"item":1})"}, {"c2", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
    EXPECT_EQ(status_of("c1"), call_status::asked);
    EXPECT_EQ(status_of("c2"), call_status::answered);
    ASSERT_EQ(sink.end.approvals.size(), 1U);
    ASSERT_NE(sink.end.approvals[0].question, nullptr);
    EXPECT_EQ(sink.end.approvals[0].question->message, "Question 1");
    EXPECT_THAT(sink.steps, Not(Contains(::testing::StartsWith("result c1"))));
    EXPECT_THAT(sink.steps, Contains("snapshot 3"));
    // The question and the status are in one commit.
    const auto with_status = std::ranges::find_if(sink.commits, [](const session::changes& each) {
        return std::ranges::any_of(each.calls, [](const session::call_record& call) {
            return call.id == "c1" && call.status == call_status::held;
        });
    });
    ASSERT_NE(with_status, sink.commits.end());
    EXPECT_TRUE(std::ranges::any_of(with_status->messages, [](const session::stored_message& node) {
        return session::is_input_note(node.message);
    }));
}

TEST_F(AgentLoopInput, CallsTheToolAgainWithAllAnswers) {
    questions = 2;
    model.turns = {calls({{"c1", "book", R"({"item":1})"}}), says("Booked")};
    play();
    answer("first");
    EXPECT_EQ(sink.end.approvals.at(0).question->message, "Question 2");
    EXPECT_EQ(status_of("c1"), call_status::asked);

    answer(2);

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(inputs, (std::vector<values>{{}, {"first"}, {"first", 2}}));
    EXPECT_THAT(executed, ::testing::Each(R"(book {"item":1})"));
    EXPECT_EQ(status_of("c1"), call_status::answered);
    EXPECT_THAT(sink.steps, Contains("result c1 done"));
    const session::thread_record thread = stored();
    EXPECT_TRUE(std::ranges::any_of(thread.nodes, [](const session::stored_message& node) {
        return node.message.tool_call_id == "c1" && !node.message.approval_answer.empty();
    }));
}

TEST_F(AgentLoopInput, AsksAfterAnApprovalAndKeepsItsArguments) {
    model.turns = {calls({{"c1", "order", R"({"item":1})"}}), says("Ordered")};
    play();
    EXPECT_EQ(sink.end.approvals.at(0).question, nullptr);
    answer({{"approved", true}, {"editedArgs", {{"item", 2}}}});
    ASSERT_NE(sink.end.approvals.at(0).question, nullptr);

    answer("gift");

    EXPECT_EQ(executed, (std::vector<std::string>{R"(order {"item":2})", R"(order {"item":2})"}));
    EXPECT_EQ(inputs, (std::vector<values>{{}, {"gift"}}));
    EXPECT_THAT(
        session::text_of(model.histories.at(1).back().content),
        ::testing::HasSubstr("A person changed the arguments")
    );
}

TEST_F(AgentLoopInput, StoresTheStartBeforeTheToolIsCalledAgain) {
    model.turns = {calls({{"c1", "book", "{}"}}), says("Booked")};
    play();
    on_execute = [this] {
        EXPECT_EQ(status_of("c1"), call_status::executing);
    };

    answer(1);

    EXPECT_EQ(executed.size(), 2U);
}

TEST_F(AgentLoopInput, IsIndeterminateIfTheQuestionCannotBeStored) {
    questions = 2;
    model.turns = {calls({{"c1", "book", "{}"}})};
    play();
    sink.fail_commit = 1; // The first one stores the start.

    answer(1);

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    EXPECT_EQ(sink.commits.back().calls.at(0).status, call_status::indeterminate);
    EXPECT_THAT(sink.end.approvals, IsEmpty());
}

TEST_F(AgentLoopInput, OfARunThatEndsInAnotherWayIsNotAsked) {
    model.turns = {calls({{"c1", "book", "{}"}})};
    on_execute = [this] {
        (void)stop.request(stop_reason::cancelled);
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_THAT(sink.end.approvals, IsEmpty());
}

TEST_F(AgentLoopInput, IsAnErrorIfTheQuestionCannotBeAsked) {
    question.schema = {{"type", "no type"}};
    model.turns = {calls({{"c1", "book", "{}"}}), says("Well")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(
        sink.steps,
        Contains("result c1 failed The tool asked for input with a schema that cannot be used.")
    );
}

TEST_F(AgentLoopInput, IsBoundedForEachCall) {
    questions = session::questions_max + 1;
    model.turns = {calls({{"c1", "book", "{}"}}), says("Well")};
    play();
    for (std::size_t i = 0; i < session::questions_max; ++i) {
        ASSERT_EQ(sink.end.reason, stop_reason::approval_needed) << i;
        answer(i);
    }

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(executed.size(), session::questions_max + 1);
    EXPECT_THAT(sink.steps, Contains("result c1 failed The tool asked for input too often."));
}

} // namespace
} // namespace agui::runner
