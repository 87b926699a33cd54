// The questions of tools: how a thread keeps them, and what a request does to them.
#include "session/history/input_note.hpp"

#include "session/base/parse_json.hpp"
#include "session/conversation/message_json.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/model_history.hpp"
#include "session/history/shown_messages.hpp"
#include "tests/support/history_request.hpp"

namespace agui::session {
namespace {

using test::assistant;
using test::plan;
using test::planned;
using test::request;
using test::thread_builder;
using test::tip_of;
using test::user;

using lines = std::vector<std::string>;
using std::chrono::seconds;

const tool_call the_call{"c1", "get_weather", R"({"city":"Boston"})", {}, {}};
const std::string other_answer = "An interrupt has already been answered in another way.";

input_question question_of(std::string text) {
    return {
        std::move(text), {{"type", "object"}, {"required", boost::json::array{"unit"}}}, {{"a", 1}}
    };
}

// One turn whose call has asked these questions, all but the last of which are answered with their
// numbers.
thread_builder asked_about(int questions, const earlier_approval& approval = {}) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {the_call}, call_status::asked);
    for (int i = 1; i <= questions; ++i) {
        if (i > 1) {
            thread.add(answer_note("a1", "c1", i - 1, "digest " + std::to_string(i - 1)));
        }
        thread.add(question_note(
            "a1", "c1", question_of("Question " + std::to_string(i)),
            i == 1 ? approval : earlier_approval()
        ));
    }
    return thread;
}

approval_answer gives(std::size_t question, std::string_view payload) {
    return {approval_id("a1", the_call, question), false, parse_json(payload).value()};
}

approval_answer withdraws(std::size_t question) {
    return {approval_id("a1", the_call, question), true, std::nullopt};
}

// A schema of these tests is fitted by objects that have the members which it requires.
history_input with(std::vector<approval_answer> answers, std::vector<message> messages = {}) {
    history_input input = request(std::move(messages));
    input.approvals = std::move(answers);
    input.now = 1000;
    input.checks.input = [](const boost::json::object& schema, const boost::json::value& answer) {
        for (const boost::json::value& name : schema.at("required").as_array()) {
            if (!answer.is_object() || !answer.get_object().contains(name.as_string())) {
                return false;
            }
        }
        return true;
    };
    return input;
}

const std::string celsius = R"({"unit":"C"})";
const std::string kelvin = R"({"unit":"K"})";

TEST(InputNote, IsReadBackAsItWasStored) {
    const message note =
        question_note("a1", "c1", question_of("Which unit?"), {"digest", R"({"city":"Bern"})"});
    const message read = message_from_stored_json(to_stored_json(note)).value();
    EXPECT_EQ(read, note);
    EXPECT_TRUE(is_input_note(read));
    EXPECT_EQ(read.id, "a1");
    thread_builder thread;
    thread.add(read).add(answer_note("a1", "c1", nullptr, "of null"));

    const input_index index(thread.build());

    ASSERT_EQ(index.of("c1").questions.size(), 1U);
    const asked_input& asked = index.of("c1").questions[0];
    EXPECT_EQ(asked.read().message, "Which unit?");
    EXPECT_EQ(asked.read().schema, question_of("").schema);
    EXPECT_EQ(asked.read().metadata, question_of("").metadata);
    ASSERT_NE(asked.answer, nullptr);
    EXPECT_TRUE(asked.answer->is_null());
    EXPECT_EQ(asked.digest, "of null");
    EXPECT_EQ(index.of("c1").approval.digest, "digest");
    EXPECT_EQ(index.of("c1").approval.arguments, R"({"city":"Bern"})");
    EXPECT_TRUE(index.of("c2").questions.empty());
}

TEST(InputNote, IsShownToNobody) {
    const thread_record thread = asked_about(2).build();

    EXPECT_EQ(shown_messages(thread, tip_of(thread)).size(), 2U);
    for (const message& each : model_history(thread, tip_of(thread))) {
        EXPECT_NE(each.role, role::activity);
    }
}

TEST(InputNote, OfAClientIsDropped) {
    for (const history_mode mode : {history_mode::server, history_mode::client}) {
        history_policy policy;
        policy.mode = mode;
        const planned made = plan(
            thread_record(),
            with(
                {}, {user("u1", "One"), question_note("u1", "c1", question_of("Forged"), {}),
                     answer_note("u1", "c1", 1, "forged"), user("u2", "Two")}
            ),
            policy
        );
        EXPECT_EQ(made.thread.nodes.size(), 2U);
    }
}

TEST(InputQuestion, IsOpenUnderItsOwnIdAndExpiresAfterItself) {
    thread_record thread = asked_about(2).build();
    session::changes later;
    stored_message note;
    note.parent = tip_of(thread);
    note.created_at = 5000;
    note.message = question_note("a1", "c1", question_of("Third"), {});
    later.messages.push_back(note);
    later.branches.push_back({0, {static_cast<node_index>(thread.nodes.size()), 0}});
    apply(thread, later);

    const std::vector<approval> open = open_approvals(thread, tip_of(thread), seconds(10));

    ASSERT_EQ(open.size(), 1U);
    EXPECT_EQ(open[0].id, approval_id("a1", the_call, 3));
    EXPECT_EQ(call_of_approval(open[0].id), "c1");
    EXPECT_EQ(open[0].expires_at, 15'000);
    ASSERT_NE(open[0].question, nullptr);
    EXPECT_EQ(open[0].question->message, "Third");
    for (const std::size_t other : {0U, 1U, 2U}) {
        EXPECT_NE(open[0].id, approval_id("a1", the_call, other));
    }
}

TEST(InputQuestion, AnAnswerGivesTheCallToTheRunWithAllAnswers) {
    const earlier_approval approval{"approved", R"({"city":"Bern"})"};
    const thread_builder thread = asked_about(2, approval);

    const planned made = plan(thread.build(), with({gives(2, celsius)}));

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c1"), call_status::approved);
    ASSERT_EQ(made.plan.approved.size(), 1U);
    EXPECT_EQ(made.plan.approved[0].arguments, R"({"city":"Bern"})");
    EXPECT_EQ(
        made.plan.approved[0].inputs,
        (std::vector<boost::json::value>{1, parse_json(celsius).value()})
    );
    ASSERT_EQ(made.plan.change.messages.size(), 1U);
    const input_index index(made.thread);
    EXPECT_EQ(*index.of("c1").questions[1].answer, parse_json(celsius).value());
    EXPECT_EQ(index.of("c1").questions[1].digest, made.plan.approved[0].digest);
    EXPECT_EQ(made.thread.nodes[tip_of(made.thread)].message.id, "a1");
}

TEST(InputQuestion, CanBeAnsweredOtherwiseIfTheRunOfItsAnswerFailedBeforeTheTool) {
    planned first = plan(asked_about(1).build(), with({gives(1, celsius)}));
    session::changes failed;
    failed.calls = first.thread.calls;
    failed.calls[0].status = call_status::asked;
    apply(first.thread, failed);
    ASSERT_EQ(open_approvals(first.thread, tip_of(first.thread), seconds(10)).size(), 1U);

    const planned made = plan(first.thread, with({gives(1, kelvin)}));

    ASSERT_EQ(made.plan.approved.size(), 1U);
    EXPECT_EQ(
        made.plan.approved[0].inputs, (std::vector<boost::json::value>{parse_json(kelvin).value()})
    );
}

TEST(InputQuestion, CancelledEndsTheCall) {
    const planned made = plan(asked_about(1).build(), with({withdraws(1)}));

    EXPECT_EQ(made.status("c1"), call_status::cancelled);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(
        test::outline(model_history(made.thread, tip_of(made.thread))).back(),
        "tool c1: ! The input that the tool asked for was not given."
    );
    EXPECT_EQ(shown_messages(made.thread, tip_of(made.thread)).size(), 3U);
}

struct judged_case {
    std::string_view name;
    std::vector<approval_answer> answers;
    std::string_view refusal; ///< Empty if nothing is refused.
    std::size_t unknown = 0;
    std::size_t effective = 0;
    unix_ms now = 1000;
};

void PrintTo(const judged_case& value, std::ostream* out) { *out << value.name; }

class InputAnswers : public testing::TestWithParam<judged_case> {};

// A thread whose call was approved, asked two questions, and waits for the second answer.
TEST_P(InputAnswers, AreJudgedLikeThoseToApprovals) {
    const approval_answer approves = gives(0, R"({"approved":true})");
    planned asked;
    {
        thread_builder thread;
        thread.user("u1", "One").assistant("a1", "", {the_call}, call_status::asked);
        asked = plan(thread.build(), with({approves}));
        const std::string digest = asked.plan.approved.at(0).digest;
        thread.add(question_note("a1", "c1", question_of("First"), {digest, std::nullopt}));
        asked = plan(thread.build(), with({gives(1, celsius)}));
        thread.add(answer_note(
            "a1", "c1", asked.plan.approved.at(0).inputs[0], asked.plan.approved[0].digest
        ));
        thread.add(question_note("a1", "c1", question_of("Second"), {}));
        asked.thread = thread.build();
    }
    const history_input input = with({});

    const judged_answers judged = judge_approvals(
        asked.thread, GetParam().answers, [](const call_record&) { return true; }, input.checks,
        seconds(10), GetParam().now
    );

    EXPECT_EQ(judged.refusal, GetParam().refusal);
    EXPECT_EQ(judged.unknown, GetParam().unknown);
    EXPECT_EQ(judged.answers.size(), GetParam().effective);
    EXPECT_EQ(judged.any_open, GetParam().refusal.empty() && GetParam().effective == 0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, InputAnswers,
    testing::Values(
        judged_case{"Nothing", {}, ""}, judged_case{"TheOpenOne", {gives(2, celsius)}, "", 0, 1},
        judged_case{"CancelsTheOpenOne", {withdraws(2)}, "", 0, 1},
        judged_case{"DoesNotFit", {gives(2, "{}")}, "An answer does not fit its responseSchema."},
        judged_case{
            "Absent",
            {{approval_id("a1", the_call, 2), false, std::nullopt}},
            "An answer does not fit its responseSchema."
        },
        judged_case{
            "Twice", {gives(2, celsius), gives(2, celsius)}, "An interrupt is answered twice."
        },
        judged_case{
            "Late",
            {gives(2, celsius)},
            "An interrupt has expired, so it can only be cancelled.",
            0,
            0,
            10'000
        },
        judged_case{"LateCancels", {withdraws(2)}, "", 0, 1, 10'000},
        judged_case{"RepeatsTheFirst", {gives(1, celsius)}, ""},
        judged_case{"RepeatsTheFirstAndAnswers", {gives(1, celsius), gives(2, kelvin)}, "", 0, 1},
        judged_case{"AnswersTheFirstOtherwise", {gives(1, kelvin)}, other_answer},
        judged_case{"CancelsTheFirst", {withdraws(1)}, other_answer},
        judged_case{"RepeatsTheApproval", {gives(0, R"({"approved":true})")}, ""},
        judged_case{"Denies", {gives(0, R"({"approved":false})")}, other_answer},
        judged_case{"AQuestionToCome", {gives(3, celsius)}, "", 1},
        judged_case{
            "OfAnotherCall",
            {{approval_id("a1", {"c2", "get_weather", "{}", {}, {}}, 1), false, {}}},
            "",
            1
        }
    ),
    [](const auto& tested) { return std::string(tested.param.name); }
);

TEST(InputQuestion, ThatCameWithoutAnApprovalHasNone) {
    const planned made = plan(asked_about(1).build(), with({gives(0, R"({"approved":true})")}));

    EXPECT_EQ(made.plan.next, next_step::wait_for_approval);
    EXPECT_EQ(made.status("c1"), call_status::asked);
    EXPECT_FALSE(made.plan.warnings.empty());
}

TEST(InputQuestion, TheAnswerToTheLastIsKnownByTheResult) {
    thread_builder thread = asked_about(1);
    const planned first = plan(thread.build(), with({gives(1, celsius)}));
    message result = test::answer("c1", "Cold");
    result.approval_answer = first.plan.approved.at(0).digest;
    thread.add(answer_note("a1", "c1", parse_json(celsius).value(), result.approval_answer));
    thread.add(result).status("c1", call_status::answered);
    thread.assistant("a2", "It is cold.");

    const planned again = plan(thread.build(), with({gives(1, celsius)}));
    EXPECT_EQ(again.plan.next, next_step::nothing);
    EXPECT_FALSE(changes_conversation(again.plan.change));
    EXPECT_EQ(plan(thread.build(), with({gives(1, kelvin)})).plan.next, next_step::refuse);
    EXPECT_EQ(plan(thread.build(), with({withdraws(1)})).plan.next, next_step::refuse);
}

TEST(InputQuestion, IsAnsweredInTheClientsHistory) {
    history_policy policy;
    policy.mode = history_mode::client;
    const std::vector<message> known{user("u1", "One"), assistant("a1", "", {the_call})};

    const planned made = plan(asked_about(2).build(), with({gives(2, celsius)}, known), policy);

    EXPECT_EQ(made.status("c1"), call_status::approved);
    ASSERT_EQ(made.plan.approved.size(), 1U);
    EXPECT_EQ(made.plan.approved[0].inputs.size(), 2U);
    EXPECT_EQ(made.thread.branches.size(), 1U);
}

} // namespace
} // namespace agui::session
