// Calls of plugins' tools that wait for a person: the run of the answer executes them.
#include "tests/runner/hooks/hooks_fixture.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace agui::runner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WaitingCalls : public Hooks {
protected:
    WaitingCalls() {
        a->before = [this](request_draft& draft) -> boost::asio::awaitable<void> {
            if (brings) {
                draft.add_tool(
                    {"dice", "Throws", {}},
                    [this](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
                        executed.push_back(call.inputs);
                        if (asks && call.inputs.empty()) {
                            co_return tool_outcome::ask({"How many?", {{"type", "integer"}}, {}});
                        }
                        co_return tool_outcome{tool_outcome::kind::result, "thrown"};
                    }
                );
            }
            co_return;
        };
        model.turns = {calls({{"c1", "dice", "{}"}}), says("Done")};
    }

    void answer(boost::json::value payload) {
        answer_interrupt(std::move(payload));
        journal.clear();
        play();
    }

    bool brings = true;
    bool asks = true;
    std::vector<std::vector<boost::json::value>> executed;
};

TEST_F(WaitingCalls, AToolOfAPluginMayAsk) {
    play();
    EXPECT_EQ(sink.end.reason, stop_reason::approval_needed);
    EXPECT_EQ(status_of("c1"), session::call_status::asked);
    ASSERT_EQ(sink.end.approvals.size(), 1U);
    ASSERT_NE(sink.end.approvals[0].question, nullptr);
    EXPECT_EQ(sink.end.approvals[0].question->message, "How many?");
    EXPECT_EQ(noted("A end"), 1);

    answer(2);

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(executed, (std::vector<std::vector<boost::json::value>>{{}, {2}}));
    EXPECT_THAT(sink.steps, Contains("result c1 thrown"));
    // For the tools, and for the one request of this run.
    EXPECT_EQ(noted("A before"), 2);
    EXPECT_EQ(model.histories.size(), 2U);
}

TEST_F(WaitingCalls, AToolOfAPluginMayNeedAnApproval) {
    request.agent.approval = approval_rule::always;
    asks = false;
    play();
    EXPECT_THAT(executed, IsEmpty());

    answer(boost::json::object{{"approved", true}});

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(executed.size(), 1U);
    EXPECT_THAT(sink.steps, Contains("result c1 thrown"));
}

TEST_F(WaitingCalls, AToolThatIsNotBroughtAgainIsNotExecuted) {
    play();
    brings = false;

    answer(2);

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(executed.size(), 1U);
    EXPECT_THAT(sink.steps, Contains(HasSubstr("result c1 failed")));
}

TEST_F(WaitingCalls, AHookThatFailsLeavesTheQuestionOpen) {
    play();
    b->before = [](request_draft&) -> boost::asio::awaitable<void> {
        throw std::runtime_error("no");
        co_return;
    };

    answer(2);

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_EQ(executed.size(), 1U);
    EXPECT_EQ(status_of("c1"), session::call_status::asked);
}

TEST_F(WaitingCalls, OfTheServerNeedNoHook) {
    tools.add({"order", "Orders", {}}, returns("ordered "), {.approval = approval_rule::always});
    model.turns = {calls({{"c1", "order", "{}"}}), says("Done")};
    play();

    answer(boost::json::object{{"approved", true}});

    EXPECT_THAT(sink.steps, Contains("result c1 ordered {}"));
    EXPECT_EQ(noted("A before"), 1) << "of the request";
}

} // namespace
} // namespace agui::runner
