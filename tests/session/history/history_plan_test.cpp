// The place in a thread where a request continues, and the messages that it adds.
#include "session/history/history_plan.hpp"

#include "tests/support/history_request.hpp"

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::other;
using test::plan;
using test::planned;
using test::request;
using test::thread_builder;
using test::user;

using lines = std::vector<std::string>;

// The messages u1 a1 u2 a2 of a client that sends everything.
thread_builder two_turns() {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First").user("u2", "Two").assistant("a2", "Second");
    thread.had_history();
    return thread;
}

const lines two_turns_outline{
    "user u1: One", "assistant a1: First", "user u2: Two", "assistant a2: Second"
};

lines followed_by(lines begin, std::initializer_list<std::string> end) {
    begin.insert(begin.end(), end);
    return begin;
}

std::vector<message> two_turns_and(std::initializer_list<message> more) {
    std::vector<message> messages{
        user("u1", "One"), assistant("a1", "First"), user("u2", "Two"), assistant("a2", "Second")
    };
    messages.insert(messages.end(), more);
    return messages;
}

history_policy client_sends(client_history what) {
    history_policy policy;
    policy.client_history = what;
    return policy;
}

TEST(HistoryPlan, AppendsANewUserMessageAfterTheLatestTurn) {
    const planned made = plan(two_turns(), two_turns_and({user("u3", "Three")}));

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
    EXPECT_EQ(made.thread.branches.size(), 1U);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_turn);
    EXPECT_EQ(made.plan.new_user_messages, lines{"u3"});
}

TEST(HistoryPlan, AppendsSeveralNewUserMessagesInOrder) {
    const planned made =
        plan(two_turns(), two_turns_and({user("u3", "Three"), user("u4", "Four")}));

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three", "user u4: Four"}));
    EXPECT_EQ(made.plan.new_user_messages, (lines{"u3", "u4"}));
}

TEST(HistoryPlan, StoresAMessageThatTheInputRepeatsOnce) {
    const planned made =
        plan(two_turns(), two_turns_and({user("u3", "Three"), user("u3", "Three")}));

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
    EXPECT_EQ(made.plan.warnings.size(), 1U);
}

TEST(HistoryPlan, NeverComparesOrStoresAssistantReasoningAndActivityMessages) {
    const planned made = plan(
        two_turns(),
        {user("u1", "One"), assistant("x", "Forged"), user("u2", "Two"), assistant("a2", "Changed"),
         other(role::reasoning, "r", "?"), other(role::activity, "v", ""), user("u3", "Three")}
    );

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
}

TEST(HistoryPlan, KnowsAMessageByContentWhateverItsForm) {
    message parts = user("u2", "");
    parts.content = boost::json::array{{{"type", "text"}, {"text", "Two"}, {"id", "p1"}}};
    parts.name = "Ann";
    parts.metadata = boost::json::object{{"a", 1}};

    const planned made = plan(two_turns(), {parts, user("u3", "Three")});

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
}

TEST(HistoryPlan, BranchesAfterTheTurnOfAnOlderKnownMessage) {
    const planned made =
        plan(two_turns(), {user("u1", "One"), assistant("a1", "First"), user("u9", "Other")});

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: First", "user u9: Other"}));
    EXPECT_EQ(made.thread.branches.size(), 2U);
    EXPECT_EQ(made.thread.head, 1U);
    EXPECT_EQ(test::outline(made.thread, made.thread.branches[0].tip), two_turns_outline);
}

TEST(HistoryPlan, ContinuesAfterAPluginsMessageThatTheClientOmits) {
    message hint = user("p1", "Say more.");
    hint.by_plugin = true;
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First").add(hint).assistant("a2", "More");
    thread.had_history();

    const planned made = plan(
        thread,
        {user("u1", "One"), assistant("a1", "First"), assistant("a2", "More"), user("u2", "Two")}
    );

    EXPECT_EQ(
        made.branch(), (lines{
                           "user u1: One", "assistant a1: First", "user p1: Say more.",
                           "assistant a2: More", "user u2: Two"
                       })
    );
    EXPECT_EQ(made.thread.branches.size(), 1U);
}

TEST(HistoryPlan, BranchesInFrontOfAMessageEditedUnderItsId) {
    const planned made =
        plan(two_turns(), {user("u1", "One"), assistant("a1", "First"), user("u2", "Two!")});

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: First", "user u2: Two!"}));
    EXPECT_EQ(made.plan.new_user_messages, lines{"u2"});
}

TEST(HistoryPlan, BranchesInFrontOfAnEditedMessageThatComesAlone) {
    const planned made = plan(two_turns(), {user("u2", "Two!")});

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: First", "user u2: Two!"}));
}

TEST(HistoryPlan, KeepsTheAnswersThatCameWithAnEditedMessage) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}).answer("c1", "done");
    thread.user("u2", "Two").assistant("a2", "Second");

    const planned made = plan(
        thread, {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}),
                 answer("c1", "done"), user("u2", "Two!")}
    );

    EXPECT_EQ(
        made.branch(),
        (lines{"user u1: One", "assistant a1:  [c1 paint({})]", "tool c1: done", "user u2: Two!"})
    );
}

TEST(HistoryPlan, GoesBackToTheFirstVersionOfAnEditedMessage) {
    thread_builder thread = two_turns();
    thread.fork("a1").user("u2", "Two!").assistant("a3", "Edited");

    const planned made = plan(thread, two_turns_and({user("u3", "Three")}));

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
    EXPECT_EQ(made.thread.head, 0U);
    EXPECT_EQ(made.thread.branches.size(), 2U);
}

TEST(HistoryPlan, LooksForAnEditedMessageOnTheBranchThatHoldsIt) {
    thread_builder thread = two_turns();
    thread.fork("u1").assistant("a1b", "First again").user("u5", "Five").assistant("a5", "Fifth");

    const planned made =
        plan(thread, {user("u1", "One"), assistant("a1", "First"), user("u2", "Two!")});

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: First", "user u2: Two!"}));
}

TEST(HistoryPlan, DoesNotTakeOldMessagesWithoutTheirAttachmentsForEdits) {
    const planned made = plan(
        two_turns(), {user("u1", "One, cut"), assistant("a1", "First"), user("u2", "Two"),
                      assistant("a2", "Second"), user("u3", "Three")}
    );

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
}

TEST(HistoryPlan, AppendsTheOnlyNewMessageOfADeltaClient) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    const planned made = plan(thread, {user("u2", "Two")});

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: First", "user u2: Two"}));
}

TEST(HistoryPlan, ContinuesWithTheOnlyMessageOfAReloadedPage) {
    const planned made = plan(two_turns(), {user("u9", "Other")});

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u9: Other"}));
    EXPECT_EQ(made.thread.branches.size(), 1U);
}

TEST(HistoryPlan, ContinuesAfterTheGreetingThatAReloadedPageShows) {
    thread_builder thread;
    thread.assistant("a0", "Welcome").user("u1", "One").assistant("a1", "First").had_history();

    const planned made = plan(thread, {assistant("a0", "Welcome"), user("u9", "Other")});

    EXPECT_EQ(
        made.branch(),
        (lines{"assistant a0: Welcome", "user u1: One", "assistant a1: First", "user u9: Other"})
    );
}

TEST(HistoryPlan, TakesALoneMessageThatRepeatsAnAnsweredOneForANewOne) {
    const planned made = plan(two_turns(), {user("u9", "Two")});

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u9: Two"}));
}

TEST(HistoryPlan, TakesALoneMessageThatRepeatsAnUnansweredOneForARetry) {
    thread_builder thread = two_turns();
    thread.user("u3", "Three");

    const planned made = plan(thread, {user("u9", "Three")});

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_messages.empty());
}

TEST(HistoryPlan, KnowsTheLastMessagesByContentWhereTheirIdsAreNew) {
    const planned whole = plan(
        two_turns(), {user("x1", "One"), assistant("y1", "First"), user("x2", "Two"),
                      assistant("y2", "Second"), user("x3", "Three")}
    );
    const planned end = plan(two_turns(), {user("x2", "Two"), user("x3", "Three")});
    const planned edit = plan(two_turns(), {user("x1", "One"), user("x2", "Two!")});

    EXPECT_EQ(whole.branch(), followed_by(two_turns_outline, {"user x3: Three"}));
    EXPECT_EQ(end.branch(), followed_by(two_turns_outline, {"user x3: Three"}));
    EXPECT_EQ(edit.branch(), (lines{"user u1: One", "assistant a1: First", "user x2: Two!"}));
}

TEST(HistoryPlan, KnowsTheLongestRowByContentAndOfSeveralTheLatest) {
    thread_builder thread;
    thread.user("u1", "go").assistant("a1", "1").user("u2", "go").assistant("a2", "2");
    thread.user("u3", "stop").assistant("a3", "3").user("u4", "go").assistant("a4", "4");

    const planned row = plan(thread, {user("x1", "go"), user("x2", "go"), user("x3", "new")});
    const planned latest = plan(thread, {user("x1", "go"), user("x2", "new")});

    EXPECT_EQ(row.branch().size(), 5U);
    EXPECT_EQ(latest.branch().size(), 9U);
}

TEST(HistoryPlan, RegeneratesAMessageKnownByContent) {
    const planned made =
        plan(two_turns(), {user("x1", "One"), assistant("y1", "First"), user("x2", "Two")});

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: First", "user u2: Two"}));
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.change.messages.empty());
}

TEST(HistoryPlan, TakesSeveralUnknownMessagesForAnEditOfTheFirst) {
    const planned made = plan(two_turns(), {user("x1", "Uno"), user("x2", "Due")});
    const planned delta = plan(
        two_turns(), {user("x1", "Uno"), user("x2", "Due")}, client_sends(client_history::delta)
    );

    EXPECT_EQ(made.branch(), (lines{"user x1: Uno", "user x2: Due"}));
    EXPECT_EQ(delta.branch(), followed_by(two_turns_outline, {"user x1: Uno", "user x2: Due"}));
}

TEST(HistoryPlan, ContinuesAfterAReloadInTheMiddleOfAHandOff) {
    thread_builder thread = two_turns();
    thread.user("u3", "Three").assistant("a3", "", {call("c1", "paint")}, call_status::pending);

    const planned answered = plan(thread, {answer("c1", "done")});
    const planned left = plan(thread, {user("x4", "Four")});
    const planned both = plan(thread, {answer("c1", "done"), user("x4", "Four")});

    EXPECT_EQ(answered.status("c1"), call_status::answered);
    EXPECT_EQ(answered.plan.next, next_step::call_model);
    EXPECT_EQ(left.status("c1"), call_status::abandoned);
    EXPECT_EQ(left.branch().size(), 7U);
    EXPECT_EQ(both.status("c1"), call_status::answered);
    EXPECT_EQ(both.branch().back(), "user x4: Four");
    EXPECT_EQ(both.branch().size(), 8U);
}

TEST(HistoryPlan, CutsInFrontOfTheFirstOfSeveralMessagesThatAreEdited) {
    const planned made = plan(two_turns(), {user("x1", "Uno"), user("u2", "Two!")});

    EXPECT_EQ(
        made.branch(),
        (lines{"user u1: One", "assistant a1: First", "user x1: Uno", "user u2: Two!"})
    );
}

TEST(HistoryPlan, TakesALoneNewMessageOfAFullClientForAnEditOfTheFirst) {
    const planned made =
        plan(two_turns(), {user("u9", "Other")}, client_sends(client_history::full));

    EXPECT_EQ(made.branch(), lines{"user u9: Other"});
    EXPECT_EQ(made.thread.branches.size(), 2U);
    EXPECT_FALSE(made.thread.last_request_had_history);
}

TEST(HistoryPlan, KeepsTheGreetingInFrontOfAnEditedFirstMessage) {
    thread_builder thread;
    thread.assistant("a0", "Welcome").user("u1", "One").assistant("a1", "First").had_history();

    const planned made = plan(
        thread, {assistant("a0", "Welcome"), user("u9", "Other")},
        client_sends(client_history::full)
    );

    EXPECT_EQ(made.branch(), (lines{"assistant a0: Welcome", "user u9: Other"}));
}

TEST(HistoryPlan, ContinuesAfterTheAnswerThatATrimmedHistoryBeginsWith) {
    const planned made = plan(two_turns(), {assistant("a2", "Second"), user("u3", "Three")});

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
}

TEST(HistoryPlan, ContinuesAfterTheTrimmedHistoryOfAFullClient) {
    const planned made =
        plan(two_turns(), {user("u2", "Two"), assistant("a2", "Second"), user("u3", "Three")});

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
}

TEST(HistoryPlan, StopsGuessingIfTheConfigurationSaysFull) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    const planned made = plan(thread, {user("u9", "Other")}, client_sends(client_history::full));

    EXPECT_EQ(made.branch(), lines{"user u9: Other"});
}

TEST(HistoryPlan, StopsGuessingIfTheConfigurationSaysDelta) {
    const planned made =
        plan(two_turns(), {user("u3", "Three")}, client_sends(client_history::delta));

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
}

TEST(HistoryPlan, RemembersWhetherARequestCameWithHistory) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");

    EXPECT_FALSE(plan(thread, {user("u2", "Two")}).thread.last_request_had_history);
    EXPECT_TRUE(plan(thread, {user("u1", "One"), user("u2", "Two")}).thread.last_request_had_history
    );
    EXPECT_TRUE(
        plan(thread, {assistant("a1", "First"), user("u2", "Two")}).thread.last_request_had_history
    );
}

TEST(HistoryPlan, DoesNotLearnFromRetriesAndAnswersWhatTheClientSends) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}, call_status::pending);

    EXPECT_FALSE(plan(thread, {user("u1", "One")}).thread.last_request_had_history);
    EXPECT_FALSE(
        plan(thread, {user("u1", "One"), answer("c1", "done")}).thread.last_request_had_history
    );
    thread.had_history();
    EXPECT_TRUE(plan(thread, {user("u1", "One")}).thread.last_request_had_history);
    EXPECT_TRUE(plan(thread, {answer("c1", "done")}).thread.last_request_had_history);
}

TEST(HistoryPlan, AsksAgainAfterAKnownUserMessageThatComesLast) {
    const planned made = plan(two_turns(), {user("u1", "One")});

    EXPECT_EQ(made.branch(), lines{"user u1: One"});
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_turn);
    EXPECT_TRUE(made.plan.new_user_messages.empty());
    EXPECT_EQ(made.thread.branches.size(), 2U);
}

TEST(HistoryPlan, StaysOnItsBranchWhenAFailedTurnIsRetried) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First").user("u2", "Two");

    const planned made =
        plan(thread, {user("u1", "One"), assistant("a1", "First"), user("u2", "Two")});

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.change.messages.empty());
    EXPECT_EQ(made.thread.branches.size(), 1U);
}

TEST(HistoryPlan, CutsAPartialAnswerOffWhenAFailedTurnIsRetried) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "Fir");

    const planned made = plan(thread, {user("u1", "One")});

    EXPECT_EQ(made.branch(), lines{"user u1: One"});
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(HistoryPlan, RetriesWhenNothingIsNewAndTheBranchEndsInAUserMessage) {
    thread_builder thread;
    thread.user("u1", "One").add(other(role::reasoning, "r1", "thinking"));

    const planned made = plan(thread, {user("u1", "One"), other(role::reasoning, "r1", "think")});

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_turn);
}

TEST(HistoryPlan, RetriesWhenNothingIsNewAndTheBranchEndsInAnsweredResults) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}).answer("c1", "done");

    const planned made = plan(thread, {answer("c1", "done")});

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_FALSE(made.plan.new_user_turn);
    EXPECT_TRUE(made.plan.answers.empty());
}

TEST(HistoryPlan, FinishesWithoutTheModelIfNothingIsNew) {
    const planned made = plan(two_turns(), two_turns_and({}));

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_FALSE(made.plan.snapshot);
    EXPECT_TRUE(made.plan.change.messages.empty());
}

TEST(HistoryPlan, SendsASnapshotIfTheClientMissesTheEndOfTheBranch) {
    const planned made = plan(two_turns(), {user("u1", "One"), assistant("a1", "First")});

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_TRUE(made.plan.snapshot);
}

TEST(HistoryPlan, SendsASnapshotForAnEmptyInput) {
    const planned made = plan(two_turns(), {});

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_TRUE(made.plan.snapshot);
}

TEST(HistoryPlan, KnowsTheLastMessageOfTheInputByItsCalls) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "", {call("c1", "paint")}, call_status::pending);

    const planned made =
        plan(thread, {user("u1", "One"), assistant("other", "", {call("c1", "paint")})});

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_FALSE(made.plan.snapshot);
}

TEST(HistoryPlan, ContinuesFromTheBranchOfAStaleTab) {
    thread_builder thread = two_turns();
    thread.fork("a1").user("u5", "Five").assistant("a5", "Fifth");

    const planned made = plan(thread, two_turns_and({user("u3", "Three")}));

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
    EXPECT_EQ(made.thread.head, 0U);
}

TEST(HistoryPlan, PrefersTheHeadThenTheMostRecentBranch) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "First");
    thread.fork("u1").assistant("a2", "Second").fork("u1").assistant("a3", "Third");

    EXPECT_EQ(
        plan(thread, {user("u1", "One"), user("u2", "Two")}).branch(),
        (lines{"user u1: One", "assistant a3: Third", "user u2: Two"})
    );
    thread.fork("").user("u9", "Other");
    EXPECT_EQ(
        plan(thread, {user("u1", "One"), user("u2", "Two")}).branch(),
        (lines{"user u1: One", "assistant a3: Third", "user u2: Two"})
    );
}

TEST(HistoryPlan, LeavesMessagesOfSubagentsInTheInputAlone) {
    message sub_user = user("s1", "Delegated");
    message sub_call = assistant("s2", "", {call("sc", "paint")});
    message sub_result = answer("sc", "done");
    for (message* value : {&sub_user, &sub_call, &sub_result}) {
        value->subagent_run_id = "sub-1";
    }

    const planned made = plan(two_turns(), two_turns_and({sub_user, sub_call, sub_result}));

    ASSERT_FALSE(made.refused);
    EXPECT_EQ(made.branch(), two_turns_outline);
    EXPECT_EQ(made.plan.next, next_step::nothing);
}

TEST(HistoryPlan, DropsSystemMessagesOfTheClient) {
    const planned made = plan(
        two_turns(), two_turns_and(
                         {other(role::system, "s", "Obey"), other(role::developer, "d", "Obey"),
                          user("u3", "Three")}
                     )
    );

    EXPECT_EQ(made.branch(), followed_by(two_turns_outline, {"user u3: Three"}));
    EXPECT_EQ(made.plan.warnings.size(), 1U);
}

TEST(HistoryPlan, StoresAcceptedSystemTextOncePerBranch) {
    history_policy policy;
    policy.accept_client_system = true;
    thread_builder thread;
    thread.add(other(role::system, "s", "Be brief")).user("u1", "One").assistant("a1", "First");

    const planned repeated = plan(
        thread, {other(role::system, "s2", "Be brief"), user("u1", "One"), user("u2", "Two")},
        policy
    );
    const planned changed = plan(
        thread, {other(role::system, "s", "Be kind"), user("u1", "One"), user("u2", "Two")}, policy
    );

    EXPECT_EQ(repeated.branch().size(), 4U);
    EXPECT_EQ(
        changed.branch(), (lines{
                              "system s: Be brief", "user u1: One", "assistant a1: First",
                              "system s:1: Be kind", "user u2: Two"
                          })
    );
}

TEST(HistoryPlan, TakesInTheGivenHistoryOfAThreadNeverSeen) {
    const planned made = plan(
        thread_builder{}, {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}),
                           answer("c1", "done"), assistant("a2", "First"), user("u2", "Two")}
    );

    EXPECT_EQ(
        made.branch(), (lines{
                           "user u1: One", "assistant a1:  [c1 paint({})]", "tool c1: done",
                           "assistant a2: First", "user u2: Two"
                       })
    );
    EXPECT_EQ(made.status("c1"), call_status::answered);
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_turn);
    EXPECT_TRUE(made.thread.last_request_had_history);
}

// A message of a delegation is only shown, so its text would not be compared if it counted as the
// conversation's own.
TEST(HistoryPlan, TakesAMessageOfADelegationForAnotherThanTheConversationsOwn) {
    history_policy policy;
    policy.mode = history_mode::client;
    message delegated = assistant("a1", "Found it");
    delegated.subagent_run_id = "sub-1";
    const planned first = plan(
        thread_builder{}, {user("u1", "One"), assistant("a1", "First"), user("u2", "Two")}, policy
    );

    const planned moved =
        plan(first.thread, request({user("u1", "One"), delegated, user("u2", "Two")}), policy);
    const planned repeated =
        plan(moved.thread, request({user("u1", "One"), delegated, user("u2", "Two")}), policy);
    const planned back = plan(
        moved.thread, request({user("u1", "One"), assistant("a1", "Another"), user("u2", "Two")}),
        policy
    );

    EXPECT_EQ(moved.branch(), (lines{"user u1: One", "assistant a1: Found it", "user u2: Two"}));
    EXPECT_EQ(repeated.thread.nodes.size(), moved.thread.nodes.size());
    EXPECT_EQ(back.branch(), (lines{"user u1: One", "assistant a1: Another", "user u2: Two"}));
}

TEST(HistoryPlan, StartsAThreadWithAnEmptyInput) {
    const planned made = plan(thread_builder{}, {});

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_FALSE(made.plan.snapshot);
    EXPECT_EQ(made.thread.branches.size(), 1U);
    const planned next = plan(made.thread, request({user("u1", "One")}));
    EXPECT_EQ(next.branch(), lines{"user u1: One"});
    EXPECT_EQ(next.thread.branches.size(), 1U);
}

TEST(HistoryPlan, DropsPairsOfServerToolsFromAnImport) {
    const planned made = plan(
        thread_builder{}, {user("u1", "One"), assistant("a1", "Look", {call("c1", "get_weather")}),
                           answer("c1", "forged"), user("u2", "Two")}
    );

    EXPECT_EQ(made.branch(), (lines{"user u1: One", "assistant a1: Look", "user u2: Two"}));
    EXPECT_EQ(made.plan.warnings.size(), 1U);
    EXPECT_TRUE(made.thread.calls.empty());
}

TEST(HistoryPlan, DropsUnansweredCallsAtTheEndOfAnImport) {
    const planned made = plan(
        thread_builder{},
        {user("u1", "One"), assistant("a1", "", {call("c1", "paint"), call("c2", "move")}),
         answer("c1", "done")}
    );

    EXPECT_EQ(
        made.branch(), (lines{"user u1: One", "assistant a1:  [c1 paint({})]", "tool c1: done"})
    );
    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_FALSE(made.plan.new_user_turn);
}

TEST(HistoryPlan, KeepsUnansweredCallsInTheMiddleOfAnImportAsAbandoned) {
    const planned made = plan(
        thread_builder{},
        {user("u1", "One"), assistant("a1", "", {call("c1", "paint")}), user("u2", "Two")}
    );

    EXPECT_EQ(made.branch().size(), 3U);
    EXPECT_EQ(made.status("c1"), call_status::abandoned);
}

TEST(HistoryPlan, ImportsAConversationThatEndsInAnAnswerWithoutAskingTheModel) {
    const planned made = plan(thread_builder{}, {user("u1", "One"), assistant("a1", "First")});

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_EQ(made.branch().size(), 2U);
}

TEST(HistoryPlan, ImportsRepeatedMessagesCallsAndResultsOnce) {
    const planned made = plan(
        thread_builder{},
        {user("u1", "One"), user("u1", "One"), assistant("a1", "", {call("c1", "paint")}),
         answer("c1", "done"), assistant("a2", "", {call("c1", "paint")}), answer("c1", "again"),
         user("u2", "Two")}
    );

    EXPECT_EQ(
        made.branch(),
        (lines{"user u1: One", "assistant a1:  [c1 paint({})]", "tool c1: done", "user u2: Two"})
    );
}

TEST(HistoryPlan, RefusesAnImportThatEndsInTheAnswerOfNoCall) {
    const planned made = plan(thread_builder{}, {user("u1", "One"), answer("c9", "done")});

    EXPECT_EQ(made.error, errc::unknown_tool_call);
    EXPECT_EQ(made.path, "messages[1].toolCallId");
}

TEST(HistoryPlan, IsThePlanOfItsArguments) {
    const auto first = plan(two_turns(), two_turns_and({user("u3", "Three")}));
    const auto second = plan(two_turns(), two_turns_and({user("u3", "Three")}));

    EXPECT_EQ(first.branch(), second.branch());
    EXPECT_EQ(first.plan.next, second.plan.next);
}

} // namespace
} // namespace agui::session
