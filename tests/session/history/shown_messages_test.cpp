#include "session/history/shown_messages.hpp"

#include "session/history/missing_result.hpp"
#include "session/history/model_history.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/support/history_request.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::outline;
using test::plan;
using test::thread_builder;
using test::tip_of;
using test::user;

using lines = std::vector<std::string>;

constexpr std::string_view interrupted =
    "The call was interrupted; whether it had any effect is unknown.";

lines shown(const thread_builder& thread) {
    return outline(shown_messages(thread.build(), tip_of(thread.build())));
}

thread_builder with_call(call_status status) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}, status);
    return thread;
}

TEST(ShownMessages, ACallThatNobodyCanAnswerHasAnErrorResult) {
    const auto sentence_of = [](call_status status) {
        const auto messages =
            shown_messages(with_call(status).build(), tip_of(with_call(status).build()));
        return messages.size() == 3 ? messages[2].error.value_or("") : std::string("none");
    };

    EXPECT_EQ(sentence_of(call_status::dead), interrupted);
    EXPECT_EQ(sentence_of(call_status::abandoned), "The call was not answered by the application.");
    EXPECT_EQ(sentence_of(call_status::denied), "The call was not allowed.");
    EXPECT_EQ(sentence_of(call_status::answered), "The result of this call is not available.")
        << "it was answered on another branch";
    EXPECT_EQ(sentence_of(call_status::pending), "none");
    EXPECT_EQ(sentence_of(call_status::open), "none") << "its run goes on";
}

TEST(ShownMessages, AnAnswerThatPausedBeforeItSaidAnythingIsNone) {
    for (const char* const text : {"", "Well"}) {
        thread_builder thread;
        thread.user("u1", "One").assistant("a1", text).assistant("a2", "Done");
        thread_record record = thread.build();
        auto origin = std::make_shared<turn_origin>();
        origin->end = turn_end::paused;
        record.nodes.edit_each([&](stored_message& node) {
            if (node.message.id == "a1") {
                node.message.origin = origin;
            }
        });
        const auto messages = shown_messages(record, tip_of(record));
        EXPECT_EQ(messages.size(), std::string_view(text).empty() ? 2U : 3U) << text;
    }
}

TEST(ShownMessages, TheErrorIsInTheContentToo) {
    const auto messages = shown_messages(with_call(call_status::dead).build(), 1);

    ASSERT_EQ(messages.size(), 3U);
    EXPECT_EQ(messages[2].id, "c1:missing");
    EXPECT_EQ(messages[2].tool_call_id, "c1");
    EXPECT_EQ(text_of(messages[2].content), R"({"error":")" + std::string(interrupted) + R"("})");
}

TEST(ShownMessages, DoNotChangeTheModelsHistory) {
    const thread_builder thread = with_call(call_status::dead);
    const auto told = model_history(thread.build(), tip_of(thread.build()));

    ASSERT_EQ(told.size(), 3U);
    EXPECT_EQ(told[2].error, interrupted);
    EXPECT_TRUE(is_empty(told[2].content));
}

TEST(ShownMessages, ErrorResultsFollowTheResultsOfTheirMessage) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant(
            "a1", "", {call("c1", "paint"), call("c2", "move"), call("c3", "rub")},
            call_status::dead
        )
        .answer("c2", "moved")
        .assistant("a2", "So")
        .user("u2", "Two");

    EXPECT_EQ(
        shown(thread),
        (lines{
            "user u1: One", "assistant a1:  [c1 paint({})] [c2 move({})] [c3 rub({})]",
            "tool c2: moved", "tool c1: ! " + std::string(interrupted),
            "tool c3: ! " + std::string(interrupted), "assistant a2: So", "user u2: Two"
        })
    );
}

TEST(ShownMessages, AResultStandsBehindItsCallWhenAMessageOfTheUserCameBefore) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {call("c1", "paint"), call("c2", "move")})
        .user("u2", "Two")
        .answer("c1", "painted")
        .add(failure_note("c1:tool", {"internal", "It failed.", false}))
        .answer("c2", "moved");
    const auto messages = shown_messages(thread.build(), tip_of(thread.build()));

    EXPECT_EQ(
        outline(messages), (lines{
                               "user u1: One", "assistant a1:  [c1 paint({})] [c2 move({})]",
                               "tool c1: painted", "tool c2: moved", "user u2: Two"
                           })
    );
    EXPECT_TRUE(messages.back().metadata) << "a failure is shown at the last message";
}

TEST(ShownMessages, AFailureAfterAResultIsInItsMetadata) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {call("c1", "paint")})
        .answer("c1", "painted")
        .add(failure_note("c1:tool", {"internal", "It failed.", false}));
    const auto messages = shown_messages(thread.build(), tip_of(thread.build()));

    ASSERT_EQ(messages.size(), 3U);
    EXPECT_TRUE(messages[2].metadata);
}

TEST(ShownMessages, ADeadCallIsDeadOnEveryBranch) {
    thread_builder thread = with_call(call_status::dead);
    thread.user("u2", "Two").fork("a1").user("u3", "Three").fork("a1");
    for (std::uint32_t branch = 0; branch < 3; ++branch) {
        EXPECT_EQ(shown(thread.head(branch)).at(2), "tool c1: ! " + std::string(interrupted));
    }
}

TEST(ShownMessages, ADuplicateCallHasOneErrorResult) {
    thread_builder thread = with_call(call_status::dead);
    thread.add(assistant("a2", "Again", {call("c1", "paint")}));

    EXPECT_EQ(shown(thread).size(), 4U);
}

TEST(ShownMessages, TheErrorResultOfASubagentsCallIsTheSubagents) {
    thread_builder thread = with_call(call_status::dead);
    message of_subagent = assistant("s1", "", {call("s1c", "look")});
    of_subagent.subagent_run_id = "sub-1";
    thread.add(of_subagent);
    const auto messages = shown_messages(thread.build(), tip_of(thread.build()));

    ASSERT_EQ(messages.size(), 5U);
    EXPECT_EQ(messages[4].error, "There is no result for this call.");
    EXPECT_EQ(messages[4].subagent_run_id, "sub-1");
    EXPECT_TRUE(messages[2].subagent_run_id.empty());
}

TEST(ShownMessages, StopBeforeTheMessagesOfARunUnderWay) {
    thread_builder thread = with_call(call_status::dead);
    thread.user("u2", "Two").assistant("a2", "Half");

    EXPECT_EQ(
        outline(shown_messages(thread.build(), tip_of(thread.build()), 3)),
        (lines{
            "user u1: One", "assistant a1:  [c1 paint({})]",
            "tool c1: ! " + std::string(interrupted), "user u2: Two"
        })
    );
}

TEST(ShownMessages, AFailedRunIsInTheMetadataOfItsLastMessage) {
    thread_builder thread;
    thread.user("u1", "One")
        .add(failure_note("u1", {"model_unavailable", "It failed.", true}))
        .assistant("a1", "So");
    const auto messages = shown_messages(thread.build(), tip_of(thread.build()));

    ASSERT_EQ(messages.size(), 2U);
    ASSERT_TRUE(messages[0].metadata);
    EXPECT_EQ(
        messages[0].metadata->at("agui-gateway.error"),
        (boost::json::value{{"code", "model_unavailable"}, {"message", "It failed."}})
    );
    EXPECT_FALSE(messages[1].metadata);
}

TEST(ShownMessages, AFailureIsNeverShownAtReasoningOrAtAnErrorResult) {
    thread_builder thread = with_call(call_status::dead);
    thread.add(test::other(role::reasoning, "r1", "Hm"))
        .add(failure_note("r1", {"internal", "It failed.", false}));
    const auto messages = shown_messages(thread.build(), tip_of(thread.build()));

    ASSERT_EQ(messages.size(), 4U);
    EXPECT_TRUE(messages[1].metadata) << "the assistant's message";
    EXPECT_FALSE(messages[2].metadata);
    EXPECT_FALSE(messages[3].metadata);
}

TEST(MissingResults, AreOfTheDeadCallsThatAClientShowsWithoutResult) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {call("dead", "paint")}, call_status::dead)
        .assistant("a2", "", {call("left", "paint")}, call_status::abandoned)
        .assistant("a3", "", {call("known", "paint")}, call_status::dead)
        .assistant("a4", "", {call("done", "paint")}, call_status::answered)
        .assistant("a5", "", {call("waits", "paint")}, call_status::pending);
    const auto calls = calls_without_result(
        {user("u1", "One"), assistant("x", "", {call("dead", "paint"), call("left", "paint")}),
         assistant("y", "", {call("known", "paint"), call("done", "paint")}),
         assistant("z", "", {call("waits", "paint"), call("foreign", "paint")}),
         assistant("z2", "", {call("dead", "paint")}), answer("known", "stopped")}
    );

    EXPECT_EQ(
        outline(missing_results(thread.build(), calls)),
        (lines{
            "tool dead: ! " + std::string(interrupted),
            "tool left: ! The call was not answered by the application."
        })
    );
    EXPECT_TRUE(missing_results(thread.build(), calls_without_result({user("u2", "Two")})).empty())
        << "a client that does not send its messages shows no call";
}

// A client that was shown the error result sends it back, whole or in a shape of its own.
std::vector<message> sent_back(std::string id, bool with_error) {
    message result = shown_missing_result(call("c1", "paint"), call_status::dead);
    result.id = std::move(id);
    if (!with_error) {
        result.error.reset();
    }
    return {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}), result};
}

TEST(MissingResults, AnswerNothingIfAClientSendsThemBack) {
    for (const auto& given :
         {sent_back("c1:missing", true), sent_back("c1:tool", false), sent_back("m", true)}) {
        const auto made = plan(with_call(call_status::dead), given);

        EXPECT_EQ(made.plan.next, next_step::nothing);
        EXPECT_TRUE(made.plan.answers.empty());
        EXPECT_TRUE(made.plan.change.messages.empty());
        EXPECT_TRUE(made.plan.warnings.empty());
        EXPECT_EQ(made.status("c1"), call_status::dead);
    }
}

TEST(MissingResults, AreNotImportedWithAThreadThatIsNew) {
    auto given = sent_back("c1:tool", false);
    given.push_back(user("u2", "Two"));
    const auto made = plan(thread_builder(), given);

    EXPECT_EQ(
        made.branch(), (lines{"user u1: One", "assistant a1:  [c1 paint({})]", "user u2: Two"})
    );
    EXPECT_TRUE(made.plan.answers.empty());
    EXPECT_EQ(made.status("c1"), call_status::abandoned);
    const auto again = plan(thread_builder(), sent_back("c1:tool", false));
    EXPECT_EQ(again.plan.next, next_step::nothing) << "it is no result at the end of the input";
}

TEST(MissingResults, AreNotImportedAsOwnCallsOfTheClient) {
    thread_builder thread;
    thread.user("u0", "Zero").assistant("a0", "So");
    auto given = sent_back("c1:missing", true);
    given.front() = user("u0", "Zero");
    const auto made = plan(thread, given);

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_TRUE(made.plan.change.calls.empty());
}

TEST(MissingResults, LeaveADeadCallDeadIfTheClientHasTheHistory) {
    history_policy policy;
    policy.mode = history_mode::client;
    auto late = sent_back("c1:missing", true);
    late.back() = answer("c1", "painted after all");
    for (const auto& given : {sent_back("c1:missing", true), late}) {
        const auto made = plan(with_call(call_status::dead), given, policy);

        EXPECT_EQ(made.plan.next, next_step::nothing);
        EXPECT_TRUE(made.plan.answers.empty());
        EXPECT_EQ(made.status("c1"), call_status::dead);
        EXPECT_EQ(made.branch().size(), 2U);
    }
}

TEST(MissingResults, BesideAResultOfTheServerCallNoModel) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("a1", "", {call("s1", "get_weather"), call("c1", "paint")}, call_status::dead)
        .answer("s1", "rain");
    const message both = assistant("a1", "", {call("s1", "get_weather"), call("c1", "paint")});
    const std::vector<message> given = {
        user("u1", "One"), both, answer("s1", "rain"),
        shown_missing_result(call("c1", "paint"), call_status::dead)
    };

    EXPECT_EQ(plan(thread, given).plan.next, next_step::nothing);
    EXPECT_EQ(plan(thread, {}).plan.next, next_step::nothing);
    history_policy policy;
    policy.mode = history_mode::client;
    EXPECT_EQ(plan(thread, given, policy).plan.next, next_step::nothing);
}

TEST(MissingResults, AreAlwaysTheSame) {
    const thread_builder thread = with_call(call_status::dead);
    EXPECT_EQ(
        test::bytes(shown_messages(thread.build(), 1)),
        test::bytes(shown_messages(thread.build(), 1))
    );
    EXPECT_TRUE(is_missing_result(shown_messages(thread.build(), 1).at(2)));
    EXPECT_FALSE(is_missing_result(answer("c1", R"({"error":"it rains"})")));
    EXPECT_FALSE(is_missing_result(answer("c1", std::string(interrupted))));
}

message activity_of(std::string id, int found, boost::json::object metadata = {}) {
    message made;
    made.id = std::move(id);
    made.role = role::activity;
    made.activity_type = "search";
    made.activity = {{"found", found}};
    if (!metadata.empty()) {
        made.metadata = std::move(metadata);
    }
    return made;
}

TEST(ShownMessages, TheLastVersionOfAnActivityStandsInTheFirstPlace) {
    thread_builder built;
    built.user("u1", "Hi")
        .add(activity_of("a", 0, {{"x", 1}, {"y", 1}}))
        .assistant("m1", "Hello")
        .add(activity_of("b", 7))
        .add(activity_of("a", 3, {{"y", 2}}));

    const std::vector<message> shown = shown_messages(built.build(), tip_of(built.build()));

    ASSERT_EQ(shown.size(), 4U);
    EXPECT_EQ(shown[1].id, "a");
    EXPECT_EQ(shown[1].activity, (boost::json::object{{"found", 3}}));
    EXPECT_EQ(shown[1].metadata, (boost::json::object{{"x", 1}, {"y", 2}}));
    EXPECT_EQ(shown[3].activity, (boost::json::object{{"found", 7}}));
}

TEST(ShownMessages, AnActivityStandsAfterTheErrorOfADeadCall) {
    thread_builder built;
    built.user("u1", "Hi")
        .assistant("m1", "", {call("c1", "paint")}, call_status::dead)
        .add(activity_of("a", 1));

    const std::vector<message> shown = shown_messages(built.build(), tip_of(built.build()));

    ASSERT_EQ(shown.size(), 4U);
    EXPECT_EQ(shown[2].role, role::tool);
    EXPECT_EQ(shown[3].id, "a");
}

} // namespace
} // namespace agui::session
