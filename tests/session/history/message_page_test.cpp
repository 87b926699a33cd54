#include "session/history/message_page.hpp"

#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::call;
using test::user;

using ids = std::vector<std::string>;

// Three turns: one message with its answer, one with two calls, one with its answer.
std::vector<message> three_turns() {
    message inner = user("u9", "To the subagent");
    inner.subagent_run_id = "s1";
    return {
        user("u1", "One"),
        assistant("a1", "First"),
        user("u2", "Two"),
        assistant("a2", "", {call("c1", "paint"), call("c2", "move")}),
        inner,
        answer("c1", "done"),
        answer("c2", "done"),
        assistant("a3", "Second"),
        user("u3", "Three"),
        assistant("a4", "Third"),
    };
}

struct page {
    ids shown;
    bool has_earlier = false;
};

page page_of(std::size_t limit, const std::string& before = {}) {
    std::vector<message> messages = three_turns();
    const auto has_earlier = cut_to_page(messages, before, limit);
    EXPECT_TRUE(has_earlier) << (has_earlier ? "" : has_earlier.error().detail);
    page out;
    out.has_earlier = has_earlier && *has_earlier;
    for (const message& each : messages) {
        out.shown.push_back(each.id);
    }
    return out;
}

const ids second_turn{"u2", "a2", "u9", "c1:tool", "c2:tool", "a3"};

TEST(MessagePage, HoldsTheLastTurns) {
    const page last = page_of(2);
    EXPECT_EQ(last.shown, (ids{"u3", "a4"}));
    EXPECT_TRUE(last.has_earlier);
    const page all = page_of(10);
    EXPECT_EQ(all.shown.size(), 10U);
    EXPECT_FALSE(all.has_earlier);
}

TEST(MessagePage, BeginsWithAMessageOfTheUser) {
    EXPECT_EQ(page_of(1).shown, (ids{"u3", "a4"}));
    EXPECT_EQ(page_of(1, "u3").shown, second_turn);
    // Among the results, and at the message to the subagent.
    EXPECT_EQ(page_of(2, "u3").shown, second_turn);
    EXPECT_EQ(page_of(4, "u3").shown, second_turn);
    EXPECT_TRUE(page_of(4, "u3").has_earlier);
}

TEST(MessagePage, TheFirstPageHasNoEarlierOne) {
    const page first = page_of(1, "u2");
    EXPECT_EQ(first.shown, (ids{"u1", "a1"}));
    EXPECT_FALSE(first.has_earlier);
    const page none = page_of(5, "u1");
    EXPECT_EQ(none.shown, ids());
    EXPECT_FALSE(none.has_earlier);
}

TEST(MessagePage, MayBeginWithoutAMessageOfTheUser) {
    std::vector<message> greeting{assistant("a0", "Hello"), assistant("a1", "Still there?")};
    const auto has_earlier = cut_to_page(greeting, {}, 1);
    ASSERT_TRUE(has_earlier);
    EXPECT_FALSE(*has_earlier);
    EXPECT_EQ(greeting.size(), 2U);
}

TEST(MessagePage, BeforeAnUnknownMessageIsNotFound) {
    std::vector<message> messages = three_turns();
    const auto page = cut_to_page(messages, "never", 5);
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, errc::not_found);
    EXPECT_EQ(page.error().path, "before");
}

} // namespace
} // namespace agui::session
