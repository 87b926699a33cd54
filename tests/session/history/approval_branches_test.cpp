// A person answers an approval on one branch; other branches have the call, too.
#include "session/history/approval.hpp"

#include "session/base/parse_json.hpp"
#include "session/history/model_history.hpp"
#include "session/history/shown_messages.hpp"
#include "session/history/subagent.hpp"
#include "tests/support/history_request.hpp"

#include <algorithm>

namespace agui::session {
namespace {

using test::assistant;
using test::plan;
using test::planned;
using test::user;
using text_lines = std::vector<std::string>;

constexpr std::string_view approve = R"({"approved":true})";
constexpr std::string_view deny = R"({"approved":false,"reason":"Too dear"})";

tool_call forecast() { return {"c1", "get_weather", "{}", {}, {}}; }

std::vector<message> one_and(std::string id, std::string text) {
    return {user("u1", "One"), user(std::move(id), std::move(text))};
}

thread_record waiting_thread() {
    test::thread_builder thread;
    return thread.user("u1", "One").assistant("a1", "", {forecast()}, call_status::asked).build();
}

// The request answers the approval, or cancels it if `payload` is empty.
history_input answering(
    std::string_view payload, std::vector<message> messages, std::string_view made_in = "a1"
) {
    history_input input = test::request(std::move(messages));
    approval_answer& given = input.approvals.emplace_back();
    given.approval_id = approval_id(made_in, forecast());
    given.cancelled = payload.empty();
    if (!given.cancelled) {
        given.payload = parse_json(payload).value();
    }
    return input;
}

void append_to_head(thread_record& thread, message value) {
    branch& head = thread.branches.at(thread.head);
    stored_message node;
    node.parent = head.tip;
    node.message = std::move(value);
    head.tip = static_cast<node_index>(thread.nodes.size());
    thread.nodes.push_back(std::move(node));
}

// Does the work of the run: executes the approved calls, then the model answers.
thread_record after_run(planned made) {
    for (const approved_call& each : made.plan.approved) {
        message result = test::answer(each.call_id, "rain");
        result.approval_answer = each.digest;
        append_to_head(made.thread, std::move(result));
        for (call_record& call : made.thread.calls) {
            if (call.id == each.call_id) {
                call.status = call_status::answered;
            }
        }
    }
    append_to_head(made.thread, assistant("a2", "Well"));
    return std::move(made.thread);
}

struct outcome_case {
    std::string_view name;
    std::string_view payload;
    std::string result;
};

class ApprovalOutcome : public testing::TestWithParam<outcome_case> {
protected:
    // A message waits, is edited, and then the approval is answered.
    static thread_record edited_and_answered(const history_policy& policy = {}) {
        const thread_record asked = waiting_thread();
        const bool whole = policy.mode == history_mode::client;
        const auto given = [whole](std::string text) {
            std::vector<message> messages = one_and("u2", std::move(text));
            if (whole) {
                messages.insert(messages.begin() + 1, assistant("a1", "", {forecast()}));
            }
            return messages;
        };
        const planned waits = plan(asked, test::request(given("Two")), policy);
        const planned edited = plan(waits.thread, test::request(given("Two!")), policy);
        EXPECT_EQ(edited.plan.next, next_step::wait_for_approval);
        EXPECT_EQ(edited.thread.branches.size(), 2U);
        return after_run(plan(edited.thread, answering(GetParam().payload, given("Two!")), policy));
    }

    static text_lines shown_on(const thread_record& thread, std::uint32_t branch) {
        return test::outline(shown_messages(thread, thread.branches.at(branch).tip));
    }
};

const text_lines begin_of_all{"user u1: One", "assistant a1:  [c1 get_weather({})]"};

text_lines begun_and(text_lines more) {
    more.insert(more.begin(), begin_of_all.begin(), begin_of_all.end());
    return more;
}

TEST_P(ApprovalOutcome, IsOnTheBranchThatWasLeftBeforeTheAnswer) {
    const thread_record thread = edited_and_answered();
    const std::string& result = GetParam().result;

    EXPECT_EQ(shown_on(thread, 0), begun_and({result, "user u2: Two"}));
    EXPECT_EQ(shown_on(thread, 1), begun_and({result, "user u2: Two!", "assistant a2: Well"}));
    for (const std::vector<message>& given :
         {one_and("u2", "Two"), std::vector<message>{user("u2", "Two"), user("u3", "Three")}}) {
        const planned left = plan(thread, test::request(given));
        EXPECT_EQ(left.thread.head, 0U);
        EXPECT_EQ(left.plan.next, next_step::call_model);
        const text_lines told =
            test::outline(model_history(left.thread, test::tip_of(left.thread)));
        ASSERT_GE(told.size(), 4U);
        EXPECT_EQ(
            (text_lines{told.begin(), told.begin() + 4}), begun_and({result, "user u2: Two"})
        );
        const planned again = plan(left.thread, test::request(given));
        EXPECT_EQ(std::ranges::count(again.branch(), result), 1);
    }
}

TEST_P(ApprovalOutcome, IsOnABranchThatBeginsLater) {
    const thread_record thread = edited_and_answered();

    const planned third = plan(thread, test::request(one_and("u2", "Two?")));

    EXPECT_EQ(third.branch(), begun_and({GetParam().result, "user u2: Two?"}));
}

TEST_P(ApprovalOutcome, IsNotOnABranchWithoutTheCall) {
    const thread_record thread = edited_and_answered();

    const planned other = plan(thread, test::request({user("u1", "One!")}));

    EXPECT_EQ(other.branch(), text_lines{"user u1: One!"});
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ApprovalOutcome,
    testing::Values(
        outcome_case{"Approved", approve, "tool c1: rain"},
        outcome_case{"Denied", deny, "tool c1: ! The call was not allowed: Too dear"},
        outcome_case{"Cancelled", "", "tool c1: ! The call was cancelled before it was executed."}
    ),
    [](const testing::TestParamInfo<outcome_case>& info) { return std::string(info.param.name); }
);

// An approval stays open on the branch of its call while the conversation continues without it.
TEST(ApprovalBranches, AnEarlierMessageIsEditedWhileTheApprovalWaits) {
    const planned edited = plan(waiting_thread(), test::request({user("u1", "One!")}));
    ASSERT_EQ(edited.plan.next, next_step::call_model);
    ASSERT_EQ(edited.status("c1"), call_status::asked);

    const thread_record ran =
        after_run(plan(edited.thread, answering(approve, {user("u1", "One")})));

    EXPECT_EQ(ran.head, 0U);
    EXPECT_EQ(test::outline(ran), begun_and({"tool c1: rain", "assistant a2: Well"}));
}

TEST(ApprovalBranches, ASubagentGetsTheResultOfItsCall) {
    const std::string inner = subagent_run_id("agent");
    test::thread_builder built;
    built.user("u1", "One")
        .assistant("a1", "", {{"agent", "get_weather", "{}", {}, {}}}, call_status::suspended);
    message asks = assistant("s1", "", {forecast()});
    asks.subagent_run_id = inner;
    thread_record thread = built.build();
    call_record call{"c1", "get_weather", "r1", call_owner::server, call_status::asked, 2};
    append_to_head(thread, std::move(asks));
    thread.calls.push_back(call);

    const planned waits = plan(thread, test::request(one_and("u2", "Two")));
    const planned edited = plan(waits.thread, test::request(one_and("u2", "Two!")));
    planned answered = plan(edited.thread, answering(approve, one_and("u2", "Two!"), "s1"));
    ASSERT_EQ(answered.status("agent"), call_status::open);
    message result = test::answer("c1", "rain");
    result.subagent_run_id = inner;
    append_to_head(answered.thread, std::move(result));
    for (call_record& each : answered.thread.calls) {
        // The subagent waits again, for a call on the new branch only.
        each.status = each.id == "c1" ? call_status::answered : call_status::suspended;
    }
    const planned left = plan(answered.thread, test::request(one_and("u2", "Two")));

    EXPECT_EQ(left.thread.head, 0U);
    EXPECT_EQ(left.status("agent"), call_status::open);
    const thread_record own =
        subagent_thread(left.thread, test::tip_of(left.thread), "agent", "Task");
    EXPECT_EQ(
        test::outline(model_history(own, test::tip_of(own))),
        (text_lines{
            "user agent:agent:task: Task", "assistant s1:  [c1 get_weather({})]", "tool c1: rain"
        })
    );
}

class ApprovalOutcomeForAClientsHistory : public ApprovalOutcome {};

TEST_P(ApprovalOutcomeForAClientsHistory, IsToldWhereTheClientLacksIt) {
    history_policy policy;
    policy.mode = history_mode::client;
    const thread_record thread = edited_and_answered(policy);
    const std::vector<message> old_tab{
        user("u1", "One"), assistant("a1", "", {forecast()}), user("u2", "Two"), user("u3", "Three")
    };

    const planned made = plan(thread, test::request(old_tab), policy);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.answers.empty()) << "the client has not answered it";
    const text_lines told = test::outline(model_history(made.thread, test::tip_of(made.thread)));
    EXPECT_EQ(told, begun_and({GetParam().result, "user u2: Two", "user u3: Three"}));
    const planned again = plan(made.thread, test::request(old_tab), policy);
    EXPECT_TRUE(again.plan.change.messages.empty()) << "it is stored there once";
    const planned only_known = plan(thread, test::request({old_tab[0], old_tab[1]}), policy);
    EXPECT_EQ(only_known.plan.next, next_step::nothing);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ApprovalOutcomeForAClientsHistory,
    testing::Values(outcome_case{"Approved", approve, "tool c1: rain"}),
    [](const testing::TestParamInfo<outcome_case>& info) { return std::string(info.param.name); }
);

TEST(ApprovalBranches, AListThatEndsBeforeTheResultHasNoErrorInItsPlace) {
    thread_record thread = waiting_thread();
    const auto end = static_cast<node_index>(thread.nodes.size());
    thread = after_run(plan(thread, answering(approve, {user("u1", "One")})));

    const auto shown = shown_messages(thread, test::tip_of(thread), end);

    EXPECT_EQ(test::outline(shown), begin_of_all);
}

} // namespace
} // namespace agui::session
