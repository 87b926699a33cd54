#include "runner/loop/loop_warnings.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace agui::runner {
namespace {

using test::call;
using test::thread_builder;

// A user turn in which the model has made that many equal calls. All but the last are answered.
thread_builder repeated(int times) {
    thread_builder thread;
    thread.user("u1", "Hi");
    for (int i = 1; i <= times; ++i) {
        const std::string id = "c" + std::to_string(i);
        thread.assistant("a" + id, "", {call(id, "paint")}, session::call_status::pending);
        if (i < times) {
            thread.answer(id, "ok");
        }
    }
    return thread;
}

std::optional<std::string>
warning(const thread_builder& thread, std::string_view call_id, const turn_limits& limits = {}) {
    const session::node_index made_in = thread.build().find_call(call_id)->made_in;
    const auto warnings = warnings_before_results(thread.build(), made_in, limits);
    const auto found = warnings.find(call_id);
    return found == warnings.end() ? std::nullopt : std::optional(found->second);
}

TEST(LoopWarnings, StandBeforeTheResultThatTheCallerGives) {
    EXPECT_FALSE(warning(repeated(2), "c2"));
    EXPECT_EQ(warning(repeated(3), "c3"), loop_warning({"paint", 1, 3}));
    EXPECT_FALSE(warning(repeated(3), "c2")) << "by what came before that call alone";
}

TEST(LoopWarnings, AreOfOneUserTurn) {
    thread_builder thread = repeated(3);
    thread.answer("c3", "ok").user("u2", "Again");
    thread.assistant("a4", "", {call("c4", "paint")}, session::call_status::pending);

    EXPECT_FALSE(warning(thread, "c4"));
}

TEST(LoopWarnings, CallsOfOneAnswerAreNotALoop) {
    thread_builder thread;
    thread.user("u1", "Hi")
        .assistant(
            "a1", "", {call("c1", "paint"), call("c2", "paint"), call("c3", "paint")},
            session::call_status::pending
        );

    EXPECT_FALSE(warning(thread, "c3"));
}

TEST(LoopWarnings, AreGivenForAllCallsOfAnAnswerAtOnce) {
    thread_builder thread;
    thread.user("u1", "Hi");
    for (const std::string id : {"1", "2", "3", "4"}) {
        thread.assistant(
            "a" + id, "", {call("p" + id, "paint"), call("d" + id, "draw")},
            session::call_status::pending
        );
    }
    const session::node_index last = thread.build().find_call("p4")->made_in;

    const auto warnings = warnings_before_results(thread.build(), last, {});

    EXPECT_EQ(warnings.size(), 2U);
    EXPECT_TRUE(warnings.contains("p4"));
    EXPECT_TRUE(warnings.contains("d4"));
    EXPECT_TRUE(warnings_before_results(thread.build(), session::no_node, {}).empty());
}

TEST(LoopWarnings, AreGivenOnlyIfTheAgentWarns) {
    turn_limits limits;
    limits.on_loop = loop_action::go_on;
    EXPECT_FALSE(warning(repeated(3), "c3", limits));

    limits.decide_loop = [](const found_loop&) {
        return loop_action::warn;
    };
    EXPECT_TRUE(warning(repeated(3), "c3", limits));

    limits.loop_threshold = 0;
    EXPECT_FALSE(warning(repeated(3), "c3", limits));
}

} // namespace
} // namespace agui::runner
