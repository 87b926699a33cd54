#include "session/history/history_selection.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

using test::call;
using test::other;
using test::outline;
using test::thread_builder;

using lines = std::vector<std::string>;

history_selection selected(const thread_record& thread) {
    return select_history(thread, thread.branches.at(thread.head).tip);
}

TEST(HistorySelection, LeavesOutMessagesThatAreNotForAModel) {
    message subagent = other(role::assistant, "s1", "Inside");
    subagent.subagent_run_id = "sub";
    thread_builder thread;
    thread.user("u1", "Hi")
        .add(other(role::activity, "x1", ""))
        .add(std::move(subagent))
        .add(other(role::reasoning, "r1", "Hm"))
        .assistant("a1", "Hello");

    EXPECT_EQ(
        outline(selected(thread.build()).messages), (lines{"user u1: Hi", "assistant a1: Hello"})
    );
}

TEST(HistorySelection, KeepsReasoningThatAnAnswerNames) {
    message named = test::assistant("a1", "Hello");
    turn_origin origin;
    origin.blocks = {{turn_block::kind::reasoning, "r2", 0, nullptr}};
    named.origin = std::make_shared<const turn_origin>(std::move(origin));
    thread_builder thread;
    thread.user("u1", "Hi")
        .add(other(role::reasoning, "r1", "Hm"))
        .add(other(role::reasoning, "r2", "Ah"))
        .add(std::move(named));

    EXPECT_EQ(
        outline(selected(thread.build()).messages),
        (lines{"user u1: Hi", "reasoning r2: Ah", "assistant a1: Hello"})
    );
}

TEST(HistorySelection, LeavesOutAnAnswerThatWasWithdrawnWithItsReasoning) {
    message withdrawn = test::assistant("a1", "I could");
    turn_origin origin;
    origin.blocks = {{turn_block::kind::reasoning, "r1", 0, nullptr}};
    origin.end = turn_end::refused;
    withdrawn.origin = std::make_shared<const turn_origin>(std::move(origin));
    thread_builder thread;
    thread.user("u1", "Hi")
        .add(other(role::reasoning, "r1", "Hm"))
        .add(std::move(withdrawn))
        .user("u2", "And?");

    EXPECT_EQ(outline(selected(thread.build()).messages), (lines{"user u1: Hi", "user u2: And?"}));
}

TEST(HistorySelection, HoldsTheModelsTextInsteadOfTheShownOne) {
    message shown = test::assistant("a1", "Hello");
    shown.for_model = std::make_shared<const content>("[raw]");
    thread_builder thread;
    thread.user("u1", "Hi").add(std::move(shown));

    const history_selection sent = selected(thread.build());

    EXPECT_EQ(outline(sent.messages), (lines{"user u1: Hi", "assistant a1: [raw]"}));
    EXPECT_EQ(sent.messages[1].for_model, nullptr);
}

TEST(HistorySelection, KnowsTheStatusOfEveryCallOfTheThread) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "paint"), call("c2", "rub")})
        .answer("c1", "done")
        .status("c2", call_status::abandoned);
    thread.fork("u1").user("u2", "Stop");

    EXPECT_EQ(
        selected(thread.build()).calls,
        (call_statuses{{"c1", call_status::answered}, {"c2", call_status::abandoned}})
    );
}

} // namespace
} // namespace agui::session
