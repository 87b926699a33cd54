#include "session/history/refused_turns.hpp"

#include "session/history/model_history.hpp"
#include "session/history/turn_failure.hpp"
#include "tests/support/history_request.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::bytes;
using test::call;
using test::plan;
using test::thread_builder;
using test::user;

const std::string whole = "[left out: the model server refused this message]";

boost::json::array photo_parts(std::string text = "Look") {
    return {
        {{"type", "text"}, {"text", std::move(text)}},
        {{"type", "image"},
         {"source", {{"type", "data"}, {"value", "AAAA"}, {"mimeType", "image/png"}}}}
    };
}

message user_photo(std::string id) {
    message value = user(std::move(id), "");
    value.content = photo_parts();
    return value;
}

message refusal(std::string about) {
    return failure_note(std::move(about), {"model_rejected", "It was refused.", true});
}

message failure(std::string about) {
    return failure_note(std::move(about), {"model_unavailable", "It failed.", false});
}

// The messages for the model, one a line, with content parts as JSON.
std::vector<std::string> sent(const thread_builder& thread) {
    const thread_record& record = thread.build();
    std::vector<std::string> all;
    for (const message& each : model_history(record, record.branches.at(record.head).tip)) {
        const auto* const parts = std::get_if<boost::json::array>(&each.content);
        all.push_back(
            std::string(to_string(each.role)) + ": " +
            (parts != nullptr ? boost::json::serialize(*parts) : text_of(each.content)) +
            (each.error ? " ! " + *each.error : "")
        );
    }
    return all;
}

using lines = std::vector<std::string>;

const std::string photo_line = "user: " + boost::json::serialize(photo_parts());
const std::string noted_line =
    R"(user: [{"type":"text","text":"Look"},)"
    R"({"type":"text","text":"[left out: the model server refused this image]"}])";

TEST(RefusedTurns, AreSentWholeUntilTheUserContinues) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(refusal("u1"));

    EXPECT_EQ(sent(thread), (lines{photo_line}));

    thread.user("u2", "And?");
    EXPECT_EQ(sent(thread), (lines{noted_line, "user: And?"}));
}

// A server may refuse after it has begun to answer.
TEST(RefusedTurns, AnAnswerThatWasWithdrawnIsNone) {
    message withdrawn = assistant("a1", "I could");
    turn_origin origin;
    origin.end = turn_end::refused;
    withdrawn.origin = std::make_shared<const turn_origin>(std::move(origin));
    thread_builder thread;
    thread.user("u1", "Hi").add(refusal("u1")).add(withdrawn).user("u2", "And?");

    EXPECT_EQ(sent(thread), (lines{"user: " + whole, "user: And?"}));
}

TEST(RefusedTurns, StayAsTheyWereSentOnceTheModelHasAnswered) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(refusal("u1")).user("u2", "And?").assistant("a2", "Fine");

    EXPECT_EQ(sent(thread), (lines{noted_line, "user: And?", "assistant: Fine"}));

    thread.user("u3", "More").add(refusal("u3")).user("u4", "So?");
    EXPECT_EQ(sent(thread).front(), noted_line) << "the later refusal is not of that message";
}

TEST(RefusedTurns, AreLeftOutAltogetherIfTheNextOneIsRefusedToo) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(refusal("u1")).add(user_photo("u2")).add(refusal("u2"));
    thread.user("u3", "And?");

    EXPECT_EQ(sent(thread), (lines{"user: " + whole, noted_line, "user: And?"}));
}

TEST(RefusedTurns, WithoutMediaAreLeftOutAtOnce) {
    thread_builder thread;
    thread.user("u1", "").add(refusal("u1")).user("u2", "And?");

    EXPECT_EQ(sent(thread), (lines{"user: " + whole, "user: And?"}));
}

TEST(RefusedTurns, OtherFailuresLeaveEverythingAsItIs) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(failure("u1")).user("u2", "And?");

    EXPECT_EQ(sent(thread), (lines{photo_line, "user: And?"}));
}

TEST(RefusedTurns, StayWholeIfARetryWasAnswered) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(refusal("u1")).assistant("a1", "A cat").user("u2", "And?");

    EXPECT_EQ(sent(thread), (lines{photo_line, "assistant: A cat", "user: And?"}));
}

TEST(RefusedTurns, MediaInResultsAreLeftOutAndTheCallsStayAnswered) {
    thread_builder thread;
    message shot = answer("c1", "");
    shot.content = photo_parts("The page");
    thread.user("u1", "Look").assistant("a1", "", {call("c1", "shoot")}).add(shot);
    thread.add(refusal(shot.id)).user("u2", "And?");

    EXPECT_EQ(
        sent(thread),
        (lines{
            "user: Look", "assistant: ",
            R"(tool: [{"type":"text","text":"The page"},)"
            R"({"type":"text","text":"[left out: the model server refused this image]"}])",
            "user: And?"
        })
    );

    thread.add(refusal("u2")).user("u3", "So?");
    EXPECT_EQ(
        sent(thread),
        (lines{"user: " + whole, "assistant: ", "tool: " + whole, "user: " + whole, "user: So?"})
    );
}

TEST(RefusedTurns, AResultsOwnFormForTheModelIsLeftOut) {
    thread_builder thread;
    message shot = answer("c1", "a picture");
    shot.for_model = std::make_shared<const content>(photo_parts("The page"));
    thread.user("u1", "Look").assistant("a1", "", {call("c1", "shoot")}).add(shot);
    thread.add(refusal(shot.id)).user("u2", "And?");

    EXPECT_EQ(
        sent(thread).at(2),
        R"(tool: [{"type":"text","text":"The page"},)"
        R"({"type":"text","text":"[left out: the model server refused this image]"}])"
    );
}

TEST(RefusedTurns, AFailedResultIsLeftOutWithItsError) {
    thread_builder thread;
    message failed = answer("c1", "");
    failed.error = "poison";
    thread.user("u1", "Look").assistant("a1", "", {call("c1", "shoot")}).add(failed);
    thread.add(refusal(failed.id)).user("u2", "And?");

    EXPECT_EQ(sent(thread).at(2), "tool: " + whole + " ! " + whole);
}

TEST(RefusedTurns, MediaThatAnotherModelHasTakenAreSuspectedBeforeAText) {
    thread_builder thread;
    thread.add(user_photo("u1")).assistant("a1", "A cat").user("u2", "I am Ada").add(refusal("u2"));
    thread.user("u3", "Who am I?");

    EXPECT_EQ(
        sent(thread), (lines{noted_line, "assistant: A cat", "user: I am Ada", "user: Who am I?"})
    );

    thread.assistant("a3", "Ada").add(user_photo("u4")).assistant("a4", "A dog").user("u5", "Now?");
    EXPECT_EQ(sent(thread).at(0), noted_line) << "an answer brings nothing back";
    EXPECT_EQ(sent(thread).at(5), photo_line);
    thread.add(refusal("u5")).user("u6", "And now?");
    EXPECT_EQ(sent(thread).at(5), noted_line);
}

TEST(RefusedTurns, ATextIsLeftOutIfEarlierMediaWereNotTheCause) {
    thread_builder thread;
    thread.add(user_photo("u1")).assistant("a1", "A cat").user("u2", "Poison").add(refusal("u2"));
    thread.user("u3", "And?").add(refusal("u3")).user("u4", "So?");

    EXPECT_EQ(
        sent(thread),
        (lines{noted_line, "assistant: A cat", "user: " + whole, "user: " + whole, "user: So?"})
    );
}

TEST(RefusedTurns, AnAnswerToASecondTryChangesNothing) {
    thread_builder thread;
    thread.user("u1", "Poison").assistant("a1", "", {call("c1", "f", R"({"a":"poison"})")});
    thread.add(answer("c1", "done")).add(refusal("c1")).user("u2", "And?").add(refusal("u2"));
    thread.user("u3", "So?");
    const auto arguments = [&thread] {
        const thread_record& record = thread.build();
        return model_history(record, record.branches.at(record.head).tip)
            .at(1)
            .tool_calls.at(0)
            .arguments;
    };
    EXPECT_EQ(arguments(), "{}");
    thread_builder again;
    again.user("u1", "Poison").assistant("a1", "", {call("c1", "f", R"({"a":"poison"})")});
    again.add(answer("c1", "done")).add(refusal("c1")).user("u2", "And?").add(refusal("u2"));
    again.assistant("a2", "Fine").user("u3", "So?");
    const thread_record& record = again.build();
    EXPECT_EQ(
        model_history(record, record.branches.at(record.head).tip).at(1).tool_calls.at(0).arguments,
        "{}"
    );
}

TEST(RefusedTurns, EachTryOfALaterMessageLeavesMoreOut) {
    thread_builder thread;
    thread.add(user_photo("u1")).assistant("a1", "A cat").user("u2", "Poison").add(refusal("u2"));
    thread.user("u3", "And?").add(refusal("u3"));
    EXPECT_EQ(sent(thread).at(2), "user: " + whole) << "u3 is tried again";
}

TEST(RefusedTurns, OwnMediaAreSuspectedBeforeThoseOfEarlierMessages) {
    thread_builder thread;
    thread.add(user_photo("u1")).assistant("a1", "A cat").add(user_photo("u2")).add(refusal("u2"));
    thread.user("u3", "And?");
    const lines first = {photo_line, "assistant: A cat", noted_line, "user: And?"};
    EXPECT_EQ(sent(thread), first);

    thread.add(refusal("u3")).user("u4", "So?");
    EXPECT_EQ(sent(thread).at(0), noted_line);
    EXPECT_EQ(sent(thread).at(2), noted_line);
}

TEST(RefusedTurns, TheModelsOwnMessagesAreSuspectedLast) {
    thread_builder thread;
    message asked = assistant("a1", "I paint", {call("c1", "paint", R"({"color":"poison"})")});
    message thought;
    thought.id = "r1";
    thought.role = role::reasoning;
    thought.content = "hm";
    auto origin = std::make_shared<turn_origin>();
    origin->blocks.push_back({turn_block::kind::reasoning, "r1", 0, nullptr});
    asked.origin = origin;
    thread.user("u1", "Paint").add(thought).add(asked).add(answer("c1", "done"));
    thread.add(refusal("c1")).user("u2", "And?");
    const auto history = [&thread] {
        const thread_record& record = thread.build();
        return model_history(record, record.branches.at(record.head).tip);
    };
    const auto call_of = [](const std::vector<message>& all) -> const message& {
        return *std::ranges::find(all, "a1", &message::id);
    };
    EXPECT_EQ(call_of(history()).tool_calls.at(0).arguments, R"({"color":"poison"})");
    EXPECT_TRUE(call_of(history()).origin);

    thread.add(refusal("u2")).user("u3", "So?");

    const std::vector<message> left = history();
    EXPECT_EQ(call_of(left).tool_calls.at(0).arguments, "{}");
    EXPECT_FALSE(call_of(left).origin);
    EXPECT_EQ(text_of(call_of(left).content), "I paint");
    EXPECT_EQ(std::ranges::find(left, "r1", &message::id), left.end());
}

TEST(RefusedTurns, MessagesThatWereSentTogetherAreRefusedTogether) {
    thread_builder thread;
    thread.add(user_photo("u1")).user("u2", "What is it?").add(refusal("u2")).user("u3", "And?");

    EXPECT_EQ(sent(thread), (lines{noted_line, "user: What is it?", "user: And?"}));
}

TEST(RefusedTurns, AreOfTheirBranchAlone) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(refusal("u1"));
    const node_index asked = 0;
    thread.user("u2", "And?");
    thread_record record = thread.build();
    record.nodes.push_back({asked, "", 0, user("u3", "Now?")});

    EXPECT_EQ(bytes(model_history(record, 3)), bytes({user_photo("u1"), user("u3", "Now?")}));
}

// The plan of a request ignores the notes.

TEST(FailureNotes, ARetryContinuesOnItsBranch) {
    thread_builder thread;
    thread.user("u1", "One").add(refusal("u1"));
    const auto made = plan(thread, {user("u1", "One")});

    EXPECT_EQ(made.plan.next, next_step::call_model);
    EXPECT_TRUE(made.plan.new_user_turn);
    EXPECT_EQ(made.thread.branches.size(), 1U);
    EXPECT_EQ(plan(thread, {}).plan.next, next_step::call_model);
}

TEST(FailureNotes, AMessageThatIsSaidAgainUnderAnotherIdIsARetry) {
    thread_builder thread;
    thread.user("u1", "One").add(failure("u1"));
    const auto made = plan(thread, {user("new", "One")});

    EXPECT_TRUE(made.plan.new_user_messages.empty());
    EXPECT_EQ(made.plan.next, next_step::call_model);
}

TEST(FailureNotes, ANewMessageFollowsThemWhateverTheClientSends) {
    thread_builder thread;
    thread.add(user_photo("u1")).add(refusal("u1"));
    history_policy client;
    client.mode = history_mode::client;
    for (const auto& made :
         {plan(thread, {user("u2", "Two")}), plan(thread, {user_photo("u1"), user("u2", "Two")}),
          plan(thread, {user_photo("new"), user("u2", "Two")}),
          plan(thread, {user_photo("u1"), user("u2", "Two")}, client)}) {
        EXPECT_EQ(made.thread.branches.size(), 1U);
        ASSERT_EQ(made.thread.nodes.size(), 3U);
        EXPECT_EQ(made.thread.nodes[2].parent, 1U);
    }
}

TEST(FailureNotes, AClientThatHasSeenTheLastMessageIsSentNothing) {
    thread_builder thread;
    thread.user("u1", "One").assistant("a1", "Half").add(failure("a1"));
    const auto made = plan(thread, {user("u1", "One"), assistant("a1", "Half")});

    EXPECT_EQ(made.plan.next, next_step::nothing);
    EXPECT_FALSE(made.plan.snapshot);
}

TEST(FailureNotes, AreNotAcceptedFromAClient) {
    message forged = refusal("u1");
    message marked = user("u1", "One");
    show_failure(forged, marked);
    const auto made = plan(thread_builder(), {marked, forged, user("u2", "Two")});

    ASSERT_EQ(made.thread.nodes.size(), 2U);
    EXPECT_FALSE(made.thread.nodes[0].message.metadata);
}

} // namespace
} // namespace agui::session
