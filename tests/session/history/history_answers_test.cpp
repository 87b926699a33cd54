// The effects of tool answers in a request.
#include "session/history/history_plan.hpp"

#include "session/history/model_history.hpp"
#include "tests/support/history_request.hpp"

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::plan;
using test::planned;
using test::request;
using test::thread_builder;
using test::user;

using lines = std::vector<std::string>;

// One turn that has left `calls` to the caller.
thread_builder waiting_for(std::vector<tool_call> calls) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", std::move(calls), call_status::pending);
    thread.offered({"paint", "move"});
    return thread;
}

thread_builder waiting_for_one() { return waiting_for({call("c1", "paint")}); }

thread_builder waiting_for_two() { return waiting_for({call("c1", "paint"), call("c2", "move")}); }

message both_calls() { return assistant("a1", "", {call("c1", "paint"), call("c2", "move")}); }

lines model_sees(const planned& made) {
    return test::outline(model_history(made.thread, made.thread.branches.at(made.thread.head).tip));
}

history_policy on_partial_is(on_partial what) {
    history_policy policy;
    policy.on_partial = what;
    return policy;
}

TEST(HistoryAnswers, TakeEffectWhenSentAlone) {
    const planned made = plan(waiting_for_one(), {answer("c1", "done")});

    EXPECT_EQ(
        made.branch(), (lines{"user u1: One", "assistant a1:  [c1 paint({})]", "tool c1: done"})
    );
    EXPECT_EQ(made.status("c1"), call_status::answered);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_FALSE(made.plan.new_user_turn);
    ASSERT_EQ(made.plan.answers.size(), 1U);
    EXPECT_EQ(made.plan.answers[0].call_id, "c1");
    EXPECT_EQ(made.plan.answers[0].message_id, "c1:tool");
    EXPECT_EQ(made.thread.find_call("c1")->run_id, "run-1");
}

TEST(HistoryAnswers, TakeEffectAtTheEndOfTheWholeHistory) {
    const planned made = plan(
        waiting_for_two(),
        {user("u1", "One"), both_calls(), answer("c2", "moved"), answer("c1", "painted")}
    );

    EXPECT_EQ(
        model_sees(made), (lines{
                              "user u1: One", "assistant a1:  [c1 paint({})] [c2 move({})]",
                              "tool c1: painted", "tool c2: moved"
                          })
    );
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(HistoryAnswers, TakeEffectInFrontOfAUserMessage) {
    const planned made = plan(waiting_for_one(), {answer("c1", "done"), user("u2", "Two")});

    EXPECT_EQ(
        made.branch(),
        (lines{"user u1: One", "assistant a1:  [c1 paint({})]", "tool c1: done", "user u2: Two"})
    );
    EXPECT_TRUE(made.plan.new_user_turn);
    EXPECT_EQ(made.thread.branches.size(), 1U);
}

TEST(HistoryAnswers, AreFoundInARetryOfAnswersAndUserMessage) {
    thread_builder thread = waiting_for_one();
    thread.answer("c1", "done").user("u2", "Two");

    const planned made = plan(thread, {answer("c1", "done"), user("u2", "Two")});

    EXPECT_TRUE(made.plan.change.messages.empty());
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(HistoryAnswers, ToAnAnsweredCallAreIgnored) {
    thread_builder thread = waiting_for_one();
    thread.answer("c1", "done").assistant("a2", "Painted");

    const planned same = plan(thread, {answer("c1", "done")});
    const planned different = plan(thread, {answer("c1", "failed")});

    EXPECT_EQ(same.plan.next, next_step::nothing);
    EXPECT_TRUE(same.plan.snapshot);
    EXPECT_TRUE(same.plan.answers.empty());
    EXPECT_TRUE(same.plan.warnings.empty());
    EXPECT_EQ(different.branch(), same.branch());
    EXPECT_EQ(different.plan.warnings.size(), 1U);
}

TEST(HistoryAnswers, CountOnceIfARequestRepeatsThem) {
    const planned made = plan(waiting_for_one(), {answer("c1", "first"), answer("c1", "second")});

    EXPECT_EQ(made.branch().back(), "tool c1: first");
    EXPECT_EQ(made.plan.answers.size(), 1U);
    EXPECT_EQ(made.plan.warnings.size(), 1U);
}

TEST(HistoryAnswers, ToCallsThatAreNotPendingAreIgnored) {
    for (const call_status status :
         {call_status::dead, call_status::abandoned, call_status::denied, call_status::open}) {
        SCOPED_TRACE(to_string(status));
        thread_builder thread = waiting_for_one();
        thread.status("c1", status);
        message stopped = answer("c1", R"({"status":"stopped"})");
        stopped.id = "c1-result";

        const planned made =
            plan(thread, {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}), stopped});

        ASSERT_FALSE(made.refused);
        EXPECT_EQ(made.branch().size(), 2U);
        EXPECT_EQ(made.status("c1"), status);
        EXPECT_EQ(made.plan.next, next_step::nothing);
    }
}

TEST(HistoryAnswers, InventedByCopilotKitDoNotBlockTheNextMessage) {
    thread_builder thread = waiting_for_one();
    thread.status("c1", call_status::dead);

    const planned made = plan(
        thread, {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}),
                 answer("c1", R"({"status":"stopped"})"), user("u2", "Two")}
    );

    EXPECT_EQ(
        model_sees(made),
        (lines{
            "user u1: One", "assistant a1:  [c1 paint({})]",
            "tool c1: ! The call was interrupted; whether it had any effect is unknown.",
            "user u2: Two"
        })
    );
}

TEST(HistoryAnswers, ToServerCallsAreIgnored) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "get_weather")}, call_status::dead);

    const planned made = plan(thread, {answer("c1", "forged"), user("u2", "Two")});

    EXPECT_EQ(made.branch().size(), 3U);
    EXPECT_EQ(made.status("c1"), call_status::dead);
}

TEST(HistoryAnswers, ToNoCallAtTheEndAreRefused) {
    const planned made = plan(waiting_for_one(), {answer("c1", "done"), answer("c9", "what?")});

    EXPECT_EQ(made.error, errc::unknown_tool_call);
    EXPECT_EQ(made.path, "messages[1].toolCallId");
}

TEST(HistoryAnswers, ToNoCallElsewhereAreDropped) {
    const planned made = plan(waiting_for_one(), {answer("c9", "what?"), user("u2", "Two")});

    ASSERT_FALSE(made.refused);
    EXPECT_EQ(made.plan.warnings.size(), 1U);
    EXPECT_EQ(made.branch().back(), "user u2: Two");
}

TEST(HistoryAnswers, AreRefusedIfTheyNameAnotherTool) {
    message wrong = answer("c1", "done");
    wrong.name = "move";

    const planned made = plan(waiting_for_one(), {wrong});

    EXPECT_EQ(made.error, errc::tool_name_mismatch);
    EXPECT_EQ(made.path, "messages[0].name");
}

TEST(HistoryAnswers, MayNameAnyToolIfTheyHaveNoEffect) {
    thread_builder thread = waiting_for_one();
    thread.answer("c1", "done");
    message wrong = answer("c1", "done");
    wrong.name = "move";

    EXPECT_FALSE(plan(thread, {wrong}).refused);
}

TEST(HistoryAnswers, ArePassedOnIfTheyFailedOrAreEmpty) {
    message failed = answer("c1", "");
    failed.error = "no paint left";

    const planned made = plan(waiting_for_two(), {failed, answer("c2", "")});

    EXPECT_EQ(made.branch().at(2), "tool c1: ! no paint left");
    EXPECT_EQ(made.branch().at(3), "tool c2: ");
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(HistoryAnswers, ToSomeOfSeveralCallsAreStoredAndTheOthersWaitedFor) {
    const planned first =
        plan(waiting_for_two(), {user("u1", "One"), both_calls(), answer("c1", "painted")});
    const planned second = plan(first.thread, request({answer("c2", "moved")}));

    EXPECT_EQ(first.plan.next, next_step::wait_for_answers);
    EXPECT_EQ(first.status("c1"), call_status::answered);
    EXPECT_EQ(first.status("c2"), call_status::pending);
    EXPECT_EQ(second.plan.next, next_step::call_model);
    EXPECT_EQ(model_sees(second).size(), 4U);
}

TEST(HistoryAnswers, InAFullHistoryContinueIfTheOtherToolsAreNotOffered) {
    history_input input = request({user("u1", "One"), both_calls(), answer("c1", "painted")});
    input.offered_tools = {"paint"};

    const planned made = plan(waiting_for_two().build(), input);

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c2"), call_status::abandoned);
    EXPECT_EQ(model_sees(made).back(), "tool c2: ! The call was not answered by the application.");
}

TEST(HistoryAnswers, WithoutToolsInTheRequestRelyOnTheToolsOfferedLast) {
    history_input input = request({user("u1", "One"), both_calls(), answer("c1", "painted")});
    input.offered_tools.reset();
    thread_builder other_tools = waiting_for_two();
    other_tools.offered({"paint"});

    EXPECT_EQ(plan(waiting_for_two().build(), input).plan.next, next_step::wait_for_answers);
    EXPECT_EQ(plan(other_tools.build(), input).plan.next, next_step::call_model);
    input.offered_tools.emplace();
    EXPECT_EQ(plan(waiting_for_two().build(), input).plan.next, next_step::call_model);
}

TEST(HistoryAnswers, WaitForToolsThatTheConfigurationDeclares) {
    history_input input = request({user("u1", "One"), both_calls(), answer("c1", "painted")});
    input.offered_tools.emplace();
    input.configured_external_tools = {"move"};

    EXPECT_EQ(plan(waiting_for_two().build(), input).plan.next, next_step::wait_for_answers);
}

TEST(HistoryAnswers, SentAloneWaitForTheOthersWhateverIsOffered) {
    history_input input = request({answer("c1", "painted")});
    input.offered_tools.emplace();

    EXPECT_EQ(plan(waiting_for_two().build(), input).plan.next, next_step::wait_for_answers);
}

TEST(HistoryAnswers, FollowTheForcedPartialPolicy) {
    history_input input = request({user("u1", "One"), both_calls(), answer("c1", "painted")});
    const auto outcome = [&](on_partial what) {
        return plan(waiting_for_two().build(), input, on_partial_is(what));
    };

    EXPECT_EQ(outcome(on_partial::proceed).plan.next, next_step::call_model);
    EXPECT_EQ(outcome(on_partial::reject).error, errc::partial_tool_answers);
    input.offered_tools.emplace();
    EXPECT_EQ(outcome(on_partial::wait).plan.next, next_step::wait_for_answers);
}

TEST(HistoryAnswers, LeaveTheOthersPendingIfTheyOnlyRepeat) {
    thread_builder thread = waiting_for_two();
    thread.answer("c1", "painted");

    for (const on_partial policy :
         {on_partial::automatic, on_partial::wait, on_partial::proceed, on_partial::reject}) {
        const planned made = plan(thread, {answer("c1", "painted")}, on_partial_is(policy));

        EXPECT_EQ(made.plan.next, next_step::nothing);
        EXPECT_FALSE(made.plan.snapshot);
        EXPECT_EQ(made.status("c2"), call_status::pending);
    }
}

TEST(HistoryAnswers, AreNotAwaitedOnceTheUserContinues) {
    const planned made = plan(waiting_for_two(), {answer("c1", "painted"), user("u2", "Two")});

    EXPECT_EQ(made.status("c1"), call_status::answered);
    EXPECT_EQ(made.status("c2"), call_status::abandoned);
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(HistoryAnswers, AreInsistedOnIfTheConfigurationSaysSo) {
    history_policy policy;
    policy.on_abandoned = on_abandoned::reject;

    EXPECT_EQ(
        plan(waiting_for_two(), {answer("c1", "painted"), user("u2", "Two")}, policy).error,
        errc::pending_tool_calls
    );
    EXPECT_FALSE(
        plan(waiting_for_one(), {answer("c1", "painted"), user("u2", "Two")}, policy).refused
    );
}

TEST(HistoryAnswers, OnAnotherBranchStayOpenWhenAMessageIsEdited) {
    const planned made = plan(waiting_for_one(), {user("u1", "One!")});

    EXPECT_EQ(made.branch(), lines{"user u1: One!"});
    EXPECT_EQ(made.status("c1"), call_status::pending);
}

TEST(HistoryAnswers, ToCallsAfterAnEditedMessageAreIgnored) {
    const planned made = plan(waiting_for_one(), {answer("c1", "done"), user("u1", "One!")});

    EXPECT_EQ(made.branch(), lines{"user u1: One!"});
    EXPECT_EQ(made.status("c1"), call_status::pending);
    EXPECT_TRUE(made.plan.answers.empty());
}

TEST(HistoryAnswers, AreNotAwaitedWhenALaterTurnIsRegenerated) {
    thread_builder thread = waiting_for_one();
    thread.user("u2", "Two");

    const planned made = plan(thread, {user("u1", "One"), user("u2", "Two")});

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.status("c1"), call_status::abandoned);
}

TEST(HistoryAnswers, GoToTheBranchThatWaitsForThem) {
    thread_builder thread = waiting_for_one();
    thread.fork("u1").assistant("a2", "Regenerated");

    const planned full = plan(
        thread,
        {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}), answer("c1", "done")}
    );
    const planned alone = plan(thread, {answer("c1", "done")});

    EXPECT_EQ(full.thread.head, 0U);
    EXPECT_EQ(full.branch().back(), "tool c1: done");
    EXPECT_EQ(alone.branch(), full.branch());
}

TEST(HistoryAnswers, ToReshapedCallsAreFoundByCallId) {
    thread_builder thread;
    thread.user("u1", "One")
        .assistant("m1", "", {call("c1", "get_weather")})
        .answer("c1", "sunny")
        .assistant("p2", "", {call("c2", "paint")}, call_status::pending);

    const planned made = plan(
        thread, {user("u1", "One"),
                 assistant("7charid", "", {call("c1", "get_weather"), call("c2", "paint")}),
                 answer("c1", "sunny"), answer("c2", "done")}
    );

    EXPECT_EQ(
        model_sees(made), (lines{
                              "user u1: One", "assistant m1:  [c1 get_weather({})]",
                              "tool c1: sunny", "assistant p2:  [c2 paint({})]", "tool c2: done"
                          })
    );
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(HistoryAnswers, ToOwnCallsOfTheClientAreImportedAndAnswered) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");
    const std::vector<message> messages{
        user("u1", "One"), assistant("a1", "First"),
        assistant("own", "I paint", {call("x1", "paint")}), answer("x1", "done")
    };

    const planned made = plan(thread, messages);

    EXPECT_EQ(
        made.branch(), (lines{
                           "user u1: One", "assistant a1: First",
                           "assistant own: I paint [x1 paint({})]", "tool x1: done"
                       })
    );
    EXPECT_EQ(made.status("x1"), call_status::answered);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_EQ(made.plan.answers.size(), 1U);
    EXPECT_TRUE(plan(made.thread, request(messages)).plan.change.messages.empty());
}

TEST(HistoryAnswers, ToOwnCallsKeepTheirPlaceInFrontOfANewMessage) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    const planned made = plan(
        thread, {user("u1", "One"), assistant("own", "", {call("x1", "paint")}),
                 answer("x1", "done"), user("u2", "Two")}
    );

    EXPECT_EQ(
        made.branch(), (lines{
                           "user u1: One", "assistant a1: First", "assistant own:  [x1 paint({})]",
                           "tool x1: done", "user u2: Two"
                       })
    );
}

TEST(HistoryAnswers, ToOwnCallsOfServerToolsAreDropped) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    const planned made = plan(
        thread, {user("u1", "One"), assistant("own", "", {call("x1", "get_weather")}),
                 answer("x1", "forged")}
    );

    EXPECT_EQ(made.branch().size(), 2U);
    EXPECT_EQ(made.plan.warnings.size(), 1U);
    EXPECT_EQ(made.plan.next, next_step::nothing);
}

TEST(HistoryAnswers, ToOwnCallsOfToolsNotOfferedAreDropped) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    const planned made = plan(
        thread,
        {user("u1", "One"), assistant("own", "", {call("x1", "unknown")}), answer("x1", "done")}
    );

    EXPECT_EQ(made.branch().size(), 2U);
    EXPECT_EQ(made.plan.warnings.size(), 1U);
}

TEST(HistoryAnswers, ToOwnCallsInFrontOfAKnownMessageComeTooLate) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First").user("u2", "Two").assistant("a2", "Second");

    const planned made = plan(
        thread, {user("u1", "One"), assistant("own", "", {call("x1", "paint")}),
                 answer("x1", "done"), user("u2", "Two"), user("u3", "Three")}
    );

    EXPECT_EQ(made.branch().size(), 5U);
    EXPECT_EQ(made.branch().back(), "user u3: Three");
}

TEST(HistoryAnswers, ToOwnCallsInAMessageOfTheServerAreImportedWithoutItsText) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First", {call("c1", "paint")}).answer("c1", "done");
    thread.assistant("a2", "Painted");

    const planned made = plan(
        thread,
        {user("u1", "One"), assistant("joined", "First", {call("c1", "paint"), call("x1", "move")}),
         answer("c1", "done"), answer("x1", "moved")}
    );

    EXPECT_EQ(made.branch().at(4), "assistant joined:x1:  [x1 move({})]");
    EXPECT_EQ(made.branch().back(), "tool x1: moved");
}

TEST(HistoryAnswers, ToOwnCallsDoNotAnswerForCallsThatWait) {
    const std::vector<message> messages{
        user("u1", "One"), assistant("own", "", {call("x1", "paint")}), answer("x1", "done")
    };

    const planned made = plan(waiting_for_one(), messages);
    const planned strict = plan(waiting_for_one(), messages, on_partial_is(on_partial::reject));

    EXPECT_EQ(made.plan.next, next_step::wait_for_answers);
    EXPECT_EQ(made.status("c1"), call_status::pending);
    EXPECT_FALSE(strict.refused);
}

} // namespace
} // namespace agui::session
