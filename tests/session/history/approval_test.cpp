// The approvals of server calls: what a request with or without `resume` does to them.
#include "session/history/approval.hpp"

#include "session/conversation/prompt_record.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/model_history.hpp"
#include "session/history/shown_messages.hpp"
#include "tests/support/history_request.hpp"

#include "session/base/parse_json.hpp"

#include <random>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::plan;
using test::planned;
using test::request;
using test::thread_builder;
using test::tip_of;
using test::user;

using lines = std::vector<std::string>;
using std::chrono::seconds;

const std::string boston = R"({"city":"Boston"})";

tool_call weather(std::string id) { return {std::move(id), "get_weather", boston, {}, {}}; }

// One turn whose calls of get_weather wait for their approval, and whose other calls were left to
// the caller.
thread_builder asking_for(std::vector<tool_call> calls) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", calls, call_status::asked);
    for (const tool_call& each : calls) {
        if (!test::is_server_tool(each.name)) {
            thread.status(each.id, call_status::pending);
        }
    }
    thread.offered({"paint", "move"});
    return thread;
}

// The id of the call's approval in the thread.
std::string id_in(const thread_builder& builder, const tool_call& about) {
    const thread_record thread = builder.build();
    const auto named = std::ranges::find(thread.calls, about.id, &call_record::id);
    return named == thread.calls.end()
               ? about.id
               : approval_id(thread.nodes[named->made_in].message.id, about);
}

approval_answer answers(const thread_builder& thread, const tool_call& about, std::string payload) {
    return {id_in(thread, about), false, parse_json(payload).value()};
}

approval_answer cancels(const thread_builder& thread, const tool_call& about) {
    return {id_in(thread, about), true, std::nullopt};
}

history_input resume(std::vector<approval_answer> answers, std::vector<message> messages = {}) {
    history_input input = request(std::move(messages));
    input.approvals = std::move(answers);
    input.now = 1000;
    return input;
}

const std::string yes = R"({"approved":true})";
const std::string no = R"({"approved":false})";

TEST(Approval, IsBoundToItsMessageItsCallItsToolAndItsArguments) {
    const tool_call about = weather("c1");
    const std::string id = approval_id("a1", about);

    EXPECT_EQ(id, approval_id("a1", {"c1", "get_weather", R"( {"city" : "Boston"} )", {}, {}}));
    EXPECT_NE(id, approval_id("a2", about));
    EXPECT_NE(id, approval_id("a1", weather("c2")));
    EXPECT_NE(id, approval_id("a1", {"c1", "get_news", boston, {}, {}}));
    EXPECT_NE(id, approval_id("a1", {"c1", "get_weather", R"({"city":"Paris"})", {}, {}}));
    EXPECT_EQ(call_of_approval(id), "c1");
    EXPECT_EQ(call_of_approval("no digest"), "no digest");
}

TEST(Approval, IsOpenOnItsBranchOnly) {
    thread_builder thread = asking_for({weather("c1"), call("c2", "paint"), weather("c3")});

    const std::vector<approval> open =
        open_approvals(thread.build(), tip_of(thread.build()), seconds(10));

    ASSERT_EQ(open.size(), 2U);
    EXPECT_EQ(open[0].call_id, "c1");
    EXPECT_EQ(open[0].tool, "get_weather");
    EXPECT_EQ(open[0].arguments, boston);
    EXPECT_EQ(open[0].id, approval_id("a1", weather("c1")));
    EXPECT_EQ(open[0].expires_at, 10'000);
    EXPECT_EQ(open[1].call_id, "c3");
    thread.fork("u1");
    EXPECT_TRUE(open_approvals(thread.build(), tip_of(thread.build()), seconds(10)).empty());
}

TEST(Approval, IsOpenInTheActiveRunBeforeItIsAskedFor) {
    thread_builder thread = asking_for({weather("c1")});
    thread.status("c1", call_status::held);
    const thread_record& record = thread.build();

    EXPECT_TRUE(open_approvals(record, tip_of(record), seconds(10)).empty());
    EXPECT_EQ(open_approvals(record, tip_of(record), seconds(10), true).size(), 1U);
}

TEST(Approval, GivesTheCallToTheRunOfTheRequest) {
    const thread_builder thread = asking_for({weather("c1")});

    const planned made = plan(thread.build(), resume({answers(thread, weather("c1"), yes)}));

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c1"), call_status::approved);
    EXPECT_EQ(made.thread.find_call("c1")->run_id, "");
    ASSERT_EQ(made.plan.approved.size(), 1U);
    EXPECT_EQ(made.plan.approved[0].call_id, "c1");
    EXPECT_EQ(made.plan.approved[0].arguments, std::nullopt);
    EXPECT_EQ(made.plan.approved[0].digest.size(), 64U);
    EXPECT_TRUE(made.plan.change.messages.empty());
}

TEST(Approval, ReplacesTheArguments) {
    const thread_builder thread = asking_for({weather("c1")});
    const std::string edited = R"({"approved":true,"editedArgs":{"city":"Paris"},"reason":null})";
    history_input given = resume({answers(thread, weather("c1"), edited)});
    given.checks.arguments = [](std::string_view tool, const boost::json::object& arguments) {
        return tool == "get_weather" && arguments.contains("city");
    };

    const planned made = plan(thread.build(), given);

    ASSERT_EQ(made.plan.approved.size(), 1U);
    EXPECT_EQ(made.plan.approved[0].arguments, R"({"city":"Paris"})");
}

TEST(Approval, DeniedGivesTheModelAnErrorWithTheReason) {
    const thread_builder thread = asking_for({weather("c1")});
    const std::string denied = R"({"approved":false,"reason":"Too expensive","editedArgs":{}})";

    const planned made = plan(thread.build(), resume({answers(thread, weather("c1"), denied)}));

    EXPECT_EQ(made.status("c1"), call_status::denied);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.approved.empty());
    ASSERT_EQ(made.plan.refused_calls.size(), 1U);
    EXPECT_EQ(made.plan.refused_calls[0].message_id, "c1:missing");
    const lines told = test::outline(model_history(made.thread, tip_of(made.thread)));
    EXPECT_EQ(told.back(), "tool c1: ! The call was not allowed: Too expensive");
    const std::vector<message> shown = shown_messages(made.thread, tip_of(made.thread));
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(text_of(shown[2].content), R"({"error":"The call was not allowed: Too expensive"})");
    EXPECT_EQ(shown[2].error, "The call was not allowed: Too expensive");
}

TEST(Approval, CancelledIsNotADenial) {
    const thread_builder thread = asking_for({weather("c1")});

    const planned made =
        plan(thread.build(), resume({cancels(thread, weather("c1"))}, {user("u2", "Stop that")}));

    EXPECT_EQ(made.status("c1"), call_status::cancelled);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_turn);
    const lines told = test::outline(model_history(made.thread, tip_of(made.thread)));
    ASSERT_EQ(told.size(), 4U);
    EXPECT_EQ(told[2], "tool c1: ! The call was cancelled before it was executed.");
    EXPECT_EQ(told[3], "user u2: Stop that");
}

TEST(Approval, IsAskedForAgainWithoutAnAnswer) {
    const thread_builder thread = asking_for({weather("c1")});
    const std::vector<message> known{user("u1", "One"), assistant("a1", "", {weather("c1")})};

    for (const std::vector<message>& messages :
         {std::vector<message>{}, known, {user("u1", "One")}, {answer("c1", yes)}}) {
        const planned made = plan(thread.build(), resume({}, messages));
        EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
        EXPECT_EQ(made.status("c1"), call_status::asked);
        EXPECT_TRUE(made.plan.change.messages.empty());
        EXPECT_TRUE(made.plan.change.branches.empty());
    }
}

TEST(Approval, KeepsTheMessageThatComesInsteadOfTheAnswer) {
    const thread_builder thread = asking_for({weather("c1")});

    const planned first = plan(thread.build(), resume({}, {user("u2", "Two")}));
    EXPECT_EQ(first.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(first.status("c1"), call_status::asked);
    EXPECT_EQ(first.plan.new_user_messages, (lines{"u2"}));
    const planned then = plan(
        first.thread,
        resume({answers(thread, weather("c1"), no)}, {user("u1", "One"), user("u2", "Two")})
    );

    EXPECT_EQ(then.plan.next, next_step::call_model);
    EXPECT_EQ(
        test::outline(model_history(then.thread, tip_of(then.thread))),
        (lines{
            "user u1: One", R"(assistant a1:  [c1 get_weather({"city":"Boston"})])",
            "tool c1: ! The call was not allowed.", "user u2: Two"
        })
    );
}

// The call has run after a message of the user; every view shows its result with the call.
TEST(Approval, LeavesItsResultOnEveryBranchThatHasTheCall) {
    thread_builder thread = asking_for({weather("c1")});
    message result = answer("c1", "rain");
    result.prompt = std::make_shared<const prompt_record>();
    thread.user("u2", "Two").add(result).assistant("a2", "Rain");
    thread.status("c1", call_status::answered);
    const lines begin{"user u1: One", "assistant a1:  [c1 get_weather({\"city\":\"Boston\"})]"};
    const auto after = [&begin](std::initializer_list<std::string> end) {
        lines all = begin;
        all.insert(all.end(), end);
        return all;
    };

    const planned again = plan(thread, {user("u1", "One"), user("u2", "Two")});
    ASSERT_EQ(again.branch(), after({"user u2: Two", "tool c1: rain"}));
    EXPECT_EQ(again.plan.next, next_step::call_model);
    EXPECT_EQ(again.thread.nodes.back().message.prompt, nullptr) << "it is told anew";
    EXPECT_EQ(
        plan(thread, {user("u1", "One"), user("u2", "Two!")}).branch(),
        after({"tool c1: rain", "user u2: Two!"})
    );
    EXPECT_EQ(
        plan(thread, {user("u1", "One"), user("u9", "Else")}).branch(),
        after({"tool c1: rain", "user u9: Else"})
    );
    EXPECT_EQ(plan(thread, {user("u1", "One!")}).branch(), lines{"user u1: One!"});
}

TEST(Approval, OfSeveralIsExecutedWhileTheOthersWait) {
    const thread_builder thread = asking_for({weather("c1"), weather("c2")});

    const planned made = plan(
        thread.build(), resume({answers(thread, weather("c2"), yes)}, {user("u2", "And then?")})
    );

    EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(made.status("c1"), call_status::asked);
    EXPECT_EQ(made.status("c2"), call_status::approved);
    EXPECT_EQ(made.plan.new_user_messages, (lines{"u2"}));
}

TEST(Approval, AndACallOfTheCallerAreAnsweredInAnyOrder) {
    const thread_builder thread = asking_for({weather("c1"), call("c2", "paint")});
    const approval_answer approved = answers(thread, weather("c1"), yes);

    const planned both = plan(thread.build(), resume({approved}, {answer("c2", "red")}));
    EXPECT_EQ(both.plan.next, next_step::call_model);
    const planned tool_only = plan(thread.build(), resume({}, {answer("c2", "red")}));
    EXPECT_EQ(tool_only.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(tool_only.status("c2"), call_status::answered);
    const planned resume_only = plan(thread.build(), resume({approved}));
    EXPECT_EQ(resume_only.plan.next, next_step::wait_for_answers);
    EXPECT_EQ(resume_only.status("c2"), call_status::pending);
    EXPECT_EQ(resume_only.status("c1"), call_status::approved);
}

TEST(Approval, IsNeverGivenByAToolMessageNorACallAnsweredByResume) {
    const thread_builder thread = asking_for({weather("c1"), call("c2", "paint")});

    const planned made = plan(
        thread.build(),
        resume(
            {answers(thread, call("c2", "paint"), yes)}, {answer("c1", yes), answer("c2", "red")}
        )
    );

    EXPECT_EQ(made.status("c1"), call_status::asked);
    EXPECT_EQ(made.status("c2"), call_status::answered);
    EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(
        made.plan.warnings, (lines{"a resume entry names no interrupt of this conversation"})
    );
}

TEST(Approval, OfAnotherNameIsLeftOut) {
    const thread_builder thread = asking_for({weather("c1")});
    const std::string id = approval_id("a1", weather("c1"));
    std::vector<std::string> names{
        "",
        "c1",
        "c1:",
        ":",
        id + "0",
        id.substr(0, id.size() - 1),
        approval_id("a1", {"c1", "get_weather", R"({"city":"Paris"})", {}, {}}),
        approval_id("a1", {"c1", "other", boston, {}, {}}),
        approval_id("other", weather("c1")),
    };
    std::mt19937 random(38); // NOLINT: the same names each time
    for (int i = 0; i < 10'000; ++i) {
        std::string altered = id;
        const std::size_t at = random() % altered.size();
        const auto flipped = static_cast<char>(1 + random() % 127);
        altered[at] = static_cast<char>(altered[at] ^ flipped);
        names.push_back(std::move(altered));
    }
    for (const std::string& name : names) {
        const judged_answers judged = judge_approvals(
            thread.build(), {{name, false, parse_json(yes).value()}},
            [](const call_record&) { return true; }, {}, seconds(10), 0
        );
        ASSERT_TRUE(judged.answers.empty()) << name;
        ASSERT_TRUE(judged.any_open) << name;
        ASSERT_EQ(judged.unknown, 1U) << name;
    }
    const planned made =
        plan(thread.build(), resume({{names.back(), false, parse_json(yes).value()}}));
    EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(made.status("c1"), call_status::asked);
    EXPECT_FALSE(made.plan.warnings.empty());
}

TEST(Approval, OfNothingChangesNothing) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "Hello");

    const planned made =
        plan(thread.build(), resume({answers(thread, weather("c1"), yes)}, {user("u2", "Two")}));

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.plan.new_user_messages, (lines{"u2"}));
}

struct refused_case {
    std::string_view name;
    std::string_view payload;
    unix_ms now = 1000;
};

void PrintTo(const refused_case& value, std::ostream* out) { *out << value.name; }

class ApprovalRefused : public testing::TestWithParam<refused_case> {};

TEST_P(ApprovalRefused, LeavesEverythingAsItWas) {
    const thread_builder thread = asking_for({weather("c1"), weather("c2")});
    history_input given = resume(
        {answers(thread, weather("c2"), yes),
         answers(thread, weather("c1"), std::string(GetParam().payload))},
        {user("u2", "Two")}
    );
    given.now = GetParam().now;
    given.checks.arguments = [](std::string_view, const boost::json::object& arguments) {
        return arguments.contains("city");
    };
    history_policy policy;
    policy.approval_life = seconds(10);

    const planned made = plan(thread.build(), given, policy);

    ASSERT_FALSE(made.refused);
    EXPECT_EQ(made.plan.next, next_step::refuse);
    EXPECT_FALSE(made.plan.refusal.empty());
    EXPECT_FALSE(changes_conversation(made.plan.change));
    EXPECT_TRUE(made.plan.approved.empty());
    EXPECT_TRUE(made.plan.new_user_messages.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Payloads, ApprovalRefused,
    testing::Values(
        refused_case{"Null", "null"}, refused_case{"Boolean", "true"},
        refused_case{"Text", R"("yes")"}, refused_case{"Number", "1"},
        refused_case{"List", R"([{"approved":true}])"}, refused_case{"WithoutApproved", "{}"},
        refused_case{"NullApproved", R"({"approved":null})"},
        refused_case{"TextApproved", R"({"approved":"true"})"},
        refused_case{"NumberApproved", R"({"approved":1})"},
        refused_case{"ReasonNotText", R"({"approved":true,"reason":1})"},
        refused_case{"ArgumentsNotObject", R"({"approved":true,"editedArgs":"{}"})"},
        refused_case{"ArgumentsOfADenialNotObject", R"({"approved":false,"editedArgs":[]})"},
        refused_case{"ArgumentsThatDoNotFit", R"({"approved":true,"editedArgs":{"town":"P"}})"},
        refused_case{"Expired", R"({"approved":true})", 10'000},
        refused_case{"ExpiredDenial", R"({"approved":false})", 10'000}
    ),
    [](const auto& tested) { return std::string(tested.param.name); }
);

TEST(Approval, AnsweredTwiceInOneRequestIsRefused) {
    const thread_builder thread = asking_for({weather("c1")});

    const planned made = plan(
        thread.build(),
        resume({answers(thread, weather("c1"), yes), answers(thread, weather("c1"), yes)})
    );

    EXPECT_EQ(made.plan.next, next_step::refuse);
}

TEST(Approval, ThatHasExpiredCanBeCancelled) {
    const thread_builder thread = asking_for({weather("c1")});
    history_input given = resume({cancels(thread, weather("c1"))});
    given.now = 1'000'000'000'000;

    EXPECT_EQ(plan(thread.build(), given).status("c1"), call_status::cancelled);
}

TEST(Approval, RepeatedChangesNothingButAnotherAnswerIsRefused) {
    const thread_builder thread = asking_for({weather("c1")});
    const std::string reason = R"({"approved":false,"reason":"No"})";
    planned made = plan(thread.build(), resume({answers(thread, weather("c1"), reason)}));
    const std::string same = R"({ "reason":"No", "approved":false })";

    const planned again = plan(made.thread, resume({answers(thread, weather("c1"), same)}));
    EXPECT_NE(again.plan.next, next_step::refuse);
    EXPECT_FALSE(changes_conversation(again.plan.change));
    EXPECT_TRUE(again.plan.warnings.empty());
    // A client that lacks the end of the conversation does not ask for another turn.
    const planned behind =
        plan(made.thread, resume({answers(thread, weather("c1"), same)}, {user("u1", "One")}));
    EXPECT_FALSE(changes_conversation(behind.plan.change));
    EXPECT_EQ(behind.thread.branches.size(), 1U);
    for (const approval_answer& other :
         {answers(thread, weather("c1"), yes), answers(thread, weather("c1"), no),
          cancels(thread, weather("c1"))}) {
        EXPECT_EQ(plan(made.thread, resume({other})).plan.next, next_step::refuse);
    }
}

TEST(Approval, OfACallThatIsOverChangesNothing) {
    for (const call_status status :
         {call_status::indeterminate, call_status::answered, call_status::dead, call_status::denied,
          call_status::cancelled, call_status::abandoned}) {
        thread_builder thread = asking_for({weather("c1")});
        thread.status("c1", status);
        const planned made = plan(thread.build(), resume({answers(thread, weather("c1"), yes)}));
        EXPECT_EQ(made.status("c1"), status);
        EXPECT_EQ(made.plan.next, next_step::nothing) << to_string(status);
        EXPECT_EQ(made.plan.warnings.empty(), status == call_status::indeterminate);
    }
}

TEST(Approval, ContinuesTheBranchOfItsCall) {
    thread_builder thread = asking_for({weather("c1")});
    thread.fork("").user("u9", "Other").assistant("a9", "Yes");

    const planned made =
        plan(thread.build(), resume({answers(thread, weather("c1"), no)}, {user("u1", "One")}));

    EXPECT_EQ(made.thread.head, 0U);
    EXPECT_EQ(made.status("c1"), call_status::denied);
}

TEST(Approval, IsGivenInTheClientsHistoryToWhatWasAsked) {
    history_policy policy;
    policy.mode = history_mode::client;
    const thread_builder thread = asking_for({weather("c1")});
    tool_call altered = weather("c1");
    altered.arguments = R"({"city":"Paris"})";
    const std::vector<message> history{
        user("u1", "One"), assistant("a1", "", {altered}), answer("c1", yes)
    };

    const planned unanswered = plan(thread.build(), resume({}, history), policy);
    EXPECT_EQ(unanswered.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(unanswered.status("c1"), call_status::asked);
    const planned made =
        plan(thread.build(), resume({answers(thread, weather("c1"), yes)}, history), policy);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c1"), call_status::approved);
    const node_index made_in = made.thread.find_call("c1")->made_in;
    EXPECT_EQ(made.thread.nodes[made_in].message.tool_calls[0].arguments, boston);
    const planned denied =
        plan(thread.build(), resume({answers(thread, weather("c1"), no)}, history), policy);
    EXPECT_EQ(denied.branch().back(), "tool c1: ! The call was not allowed.");
    const planned later = plan(
        denied.thread,
        resume({}, {history[0], assistant("a1", "", {weather("c1")}), user("u2", "Two")}), policy
    );
    EXPECT_EQ(later.thread.branches.size(), 1U);
    EXPECT_EQ(later.branch().size(), 4U);
}

TEST(Approval, WaitsInEveryViewWithoutAResult) {
    for (const call_status status :
         {call_status::held, call_status::asked, call_status::approved, call_status::executing}) {
        thread_builder thread = asking_for({weather("c1")});
        thread.status("c1", status);
        const thread_record& record = thread.build();
        EXPECT_EQ(shown_messages(record, tip_of(record)).size(), 2U) << to_string(status);
        EXPECT_TRUE(missing_results(record, {weather("c1")}).empty());
    }
    thread_builder thread = asking_for({weather("c1")});
    thread.status("c1", call_status::indeterminate);
    const std::vector<message> shown = shown_messages(thread.build(), tip_of(thread.build()));
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[2].error, "The call was interrupted; whether it had any effect is unknown.");
}

} // namespace
} // namespace agui::session
