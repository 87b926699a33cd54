#include "runner/loop/turn_use.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

using test::call;
using test::thread_builder;

session::message
counted(std::string id, std::string provider, std::uint64_t tokens, bool calls = false) {
    session::message made = test::assistant(std::move(id), "text");
    if (calls) {
        made.tool_calls.push_back(call(made.id + "c", "paint"));
    }
    session::turn_origin origin;
    origin.provider = std::move(provider);
    origin.tokens = tokens;
    made.origin = std::make_shared<const session::turn_origin>(std::move(origin));
    return made;
}

session::node_index tip_of(const session::thread_record& thread) {
    return thread.branches.at(thread.head).tip;
}

TEST(TurnUse, IsZeroForANewThread) {
    const turn_use use = use_of_turn({}, session::no_node);

    EXPECT_EQ(use.rounds, 0U);
    EXPECT_EQ(use.tokens, 0U);
    EXPECT_EQ(use.last_provider, "");
    EXPECT_TRUE(last_calls({}, session::no_node, 9).empty());
}

TEST(TurnUse, CountsSinceTheLastUserMessage) {
    thread_builder thread;
    thread.user("u1", "Hi").add(counted("a1", "old", 1000, true)).user("u2", "And?");
    EXPECT_EQ(use_of_turn(thread.build(), tip_of(thread.build())).tokens, 0U);

    thread.add(counted("a2", "first", 10, true))
        .add(test::answer("a2c", "done"))
        .add(counted("a3", "second", 20, true))
        .add(test::answer("a3c", "done"))
        .add(counted("a4", "", 0));
    const turn_use use = use_of_turn(thread.build(), tip_of(thread.build()));

    EXPECT_EQ(use.rounds, 2U);
    EXPECT_EQ(use.calls, 2U);
    EXPECT_EQ(use.tokens, 30U);
    EXPECT_EQ(use.last_provider, "second");
}

TEST(TurnUse, CountsWhatSubagentsHaveUsed) {
    session::message inner = counted("b1", "inner", 10, true);
    session::message last = counted("b2", "inner", 20);
    inner.subagent_run_id = last.subagent_run_id = "a1c:agent";
    thread_builder thread;
    thread.user("u1", "Hi").add(counted("a1", "own", 1, true)).add(inner).add(last);
    const turn_use use = use_of_turn(thread.build(), tip_of(thread.build()));

    EXPECT_EQ(use.rounds, 2U);
    EXPECT_EQ(use.calls, 2U);
    EXPECT_EQ(use.tokens, 31U);
    EXPECT_EQ(use.last_provider, "own");
}

TEST(TurnUse, ContinuesAcrossMessagesOfPlugins) {
    session::message hint = test::user("p1", "Be quick.");
    hint.by_plugin = true;
    session::message half = counted("a3", "first", 20, true); // It belongs to the answer before it.
    half.by_plugin = true;
    thread_builder thread;
    thread.user("u1", "Hi").add(counted("a1", "first", 10, true)).add(hint);
    thread.add(counted("a2", "first", 20, true)).add(half);
    const turn_use use = use_of_turn(thread.build(), tip_of(thread.build()));

    EXPECT_EQ(use.rounds, 2U);
    EXPECT_EQ(use.calls, 3U);
    EXPECT_EQ(use.tokens, 30U);
    EXPECT_EQ(last_calls(thread.build(), tip_of(thread.build()), 9).size(), 3U);
}

TEST(TurnUse, CountsTheAnswerAfterWhichAPluginAskedAgain) {
    session::message hint = test::user("p1", "Say more.");
    hint.by_plugin = true;
    thread_builder thread;
    thread.user("u1", "Hi").assistant("a1", "Hello");
    EXPECT_EQ(use_of_turn(thread.build(), tip_of(thread.build())).rounds, 0U);

    thread.add(hint).add(counted("a2", "main", 10, true));
    EXPECT_EQ(use_of_turn(thread.build(), tip_of(thread.build())).rounds, 2U);

    thread.add(test::answer("a2c", "done")).assistant("a3", "That is all.");
    EXPECT_EQ(use_of_turn(thread.build(), tip_of(thread.build())).rounds, 2U);
}

TEST(TurnUse, LastCallsAreInTheOrderMade) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant("a1", "", {call("c1", "one"), call("c2", "two")})
        .answer("c1", "")
        .answer("c2", "")
        .assistant("a2", "", {call("c3", "three")});
    const auto ids = [&](std::size_t most) {
        std::vector<std::string> all;
        for (const auto& answer : last_calls(thread.build(), tip_of(thread.build()), most)) {
            std::string& line = all.emplace_back();
            for (const auto& one : answer) {
                line += one.id;
            }
        }
        return all;
    };

    EXPECT_EQ(ids(9), (std::vector<std::string>{"c1c2", "c3"}));
    EXPECT_EQ(ids(2), (std::vector<std::string>{"c1c2", "c3"}));
    EXPECT_EQ(ids(1), (std::vector<std::string>{"c3"}));
}

} // namespace
} // namespace agui::runner
