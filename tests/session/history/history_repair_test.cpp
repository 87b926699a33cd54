#include "session/history/history_repair.hpp"

#include "tests/support/thread_builder.hpp"

#include <boost/json/array.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

// Lists that no stored thread has, because they were shortened or edited. model_history_test.cpp
// tests whole threads.

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::bytes;
using test::call;
using test::other;
using test::outline;
using test::user;

using lines = std::vector<std::string>;

lines repaired(std::vector<message> messages, call_statuses calls = {}) {
    return outline(repair_history({std::move(messages), std::move(calls)}));
}

message with_reasoning(std::string id, const std::string& reasoning_id) {
    message made = assistant(std::move(id), "Hello");
    turn_origin origin;
    origin.blocks = {{turn_block::kind::reasoning, reasoning_id, 0, nullptr}};
    made.origin = std::make_shared<const turn_origin>(std::move(origin));
    return made;
}

TEST(HistoryRepair, ARepairedListStaysAsItIs) {
    const std::vector<message> once = repair_history(
        {{user("u1", "Hi"), assistant("a1", "", {call("c1", "paint", "{")}), answer("c1", "done"),
          with_reasoning("a2", "r1"), other(role::reasoning, "r1", "Hm"), user("u2", "And?")},
         {}}
    );

    EXPECT_EQ(bytes(repair_history({once, {}})), bytes(once));
}

TEST(HistoryRepair, AResultWithoutItsCallIsLeftOut) {
    EXPECT_EQ(repaired({answer("c1", "done"), user("u2", "And?")}), (lines{"user u2: And?"}));
}

TEST(HistoryRepair, AnAnswerOfWhiteSpaceIsLeftOutUnlessItCalls) {
    message parts = assistant("a2", "");
    parts.content = boost::json::array{{{"type", "text"}, {"text", " \n"}}};

    EXPECT_EQ(
        repaired(
            {user("u1", "Hi"), assistant("a1", "\n\xC2\xA0"), parts, user("u2", "And?"),
             assistant("a3", " ", {call("c1", "paint", "{}")}), answer("c1", "done")}
        ),
        (lines{"user u1: Hi", "user u2: And?", "assistant a3:   [c1 paint({})]", "tool c1: done"})
    );
}

TEST(HistoryRepair, APausedAnswerIsKeptWithoutText) {
    message paused = assistant("a1", "");
    turn_origin origin;
    origin.end = turn_end::paused;
    paused.origin = std::make_shared<const turn_origin>(std::move(origin));

    EXPECT_EQ(repaired({user("u1", "Hi"), paused}), (lines{"user u1: Hi", "assistant a1: "}));
    EXPECT_EQ(
        repaired({paused, assistant("a2", "", {call("c1", "paint", "{}")}), answer("c1", "done")}),
        (lines{"assistant a1: ", "assistant a2:  [c1 paint({})]", "tool c1: done"})
    );
}

TEST(HistoryRepair, AModelGetsItsOwnFormOfAResult) {
    message result = answer("c1", "a chart for people");
    result.for_model = std::make_shared<const content>("42");
    const std::vector<message> messages = {
        assistant("a1", "", {call("c1", "paint", "{}")}), result
    };

    const std::vector<message> told = repair_history({messages, {}});

    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(text_of(told[1].content), "42");
    EXPECT_EQ(told[1].for_model, nullptr);
}

TEST(HistoryRepair, ACallWhoseResultWasRemovedSaysSo) {
    EXPECT_EQ(
        repaired(
            {assistant("a1", "", {call("c1", "paint"), call("c2", "rub")}), answer("c2", "rubbed")}
        ),
        (lines{
            "assistant a1:  [c1 paint({})] [c2 rub({})]",
            "tool c1: ! There is no result for this call.", "tool c2: rubbed"
        })
    );
}

TEST(HistoryRepair, ACallWithoutResultGetsOneByItsStatus) {
    EXPECT_EQ(
        repaired({assistant("a1", "", {call("c1", "paint")})}, {{"c1", call_status::denied}}),
        (lines{"assistant a1:  [c1 paint({})]", "tool c1: ! The call was not allowed."})
    );
}

TEST(HistoryRepair, ReasoningOfAnAnswerThatWasCutAwayIsLeftOut) {
    EXPECT_EQ(
        repaired({other(role::reasoning, "r1", "Hm"), user("u2", "And?")}), (lines{"user u2: And?"})
    );
}

TEST(HistoryRepair, ReasoningThatWasMovedComesRightBeforeItsAnswer) {
    const std::vector<message> made = repair_history(
        {{other(role::reasoning, "r1", "Hm"), user("u1", "Hi"), with_reasoning("a1", "r1")}, {}}
    );

    EXPECT_EQ(outline(made), (lines{"user u1: Hi", "reasoning r1: Hm", "assistant a1: Hello"}));
}

TEST(HistoryRepair, ReasoningThatTwoAnswersNameIsGivenToBoth) {
    EXPECT_EQ(
        repaired(
            {other(role::reasoning, "r1", "Hm"), with_reasoning("a1", "r1"),
             with_reasoning("a2", "r1")}
        ),
        (lines{"reasoning r1: Hm", "assistant a1: Hello", "reasoning r1: Hm", "assistant a2: Hello"}
        )
    );
}

// These ids are short enough to live inside their strings, so the tables must not refer to messages
// that were moved.
TEST(HistoryRepair, ManyCallsAndResultsInAnyOrder) {
    std::vector<message> messages;
    lines expected;
    constexpr int count = 200;
    for (int i = 0; i < count; ++i) {
        messages.push_back(answer("c" + std::to_string(i), std::to_string(i)));
    }
    for (int i = count - 1; i >= 0; --i) {
        const std::string id = "c" + std::to_string(i);
        messages.push_back(assistant("a" + std::to_string(i), "", {call(id, "t")}));
        expected.push_back("assistant a" + std::to_string(i) + ":  [" + id + " t({})]");
        expected.push_back("tool " + id + ": " + std::to_string(i));
    }

    EXPECT_EQ(repaired(std::move(messages)), expected);
}

} // namespace
} // namespace agui::session
