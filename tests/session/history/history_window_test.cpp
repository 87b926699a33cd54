#include "session/history/history_window.hpp"

#include "session/history/model_history.hpp"
#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace agui::session {
namespace {

using test::answer;
using test::assistant;
using test::bytes;
using test::call;
using test::other;
using test::outline;
using test::thread_builder;
using test::user;

using lines = std::vector<std::string>;

// Turns of a question and an answer each.
std::vector<message> turns(int count) {
    std::vector<message> messages;
    for (int i = 0; i < count; ++i) {
        messages.push_back(user("u" + std::to_string(i), "question"));
        messages.push_back(assistant("a" + std::to_string(i), "answer"));
    }
    return messages;
}

std::string first_of(int turn_count, const history_window& window) {
    const std::vector<message> left = within_window(turns(turn_count), window);
    return left.front().id + " of " + std::to_string(left.size());
}

TEST(HistoryWindow, WithoutALimitEverythingIsKept) {
    EXPECT_EQ(within_window(turns(1000), {}).size(), 2000U);
}

TEST(HistoryWindow, DropsBlocksOfHalfTheWindow) {
    const history_window window{.max_messages = 8, .max_tokens = 0};

    EXPECT_EQ(first_of(4, window), "u0 of 8");
    EXPECT_EQ(first_of(5, window), "u2 of 6");
    EXPECT_EQ(first_of(6, window), "u2 of 8");
    EXPECT_EQ(first_of(7, window), "u4 of 6");
    EXPECT_EQ(first_of(101, window), "u98 of 6");
}

TEST(HistoryWindow, CountsTokensToo) {
    const std::uint64_t of_turn =
        estimated_tokens(user("u", "question")) + estimated_tokens(assistant("a", "answer"));
    const history_window window{.max_messages = 0, .max_tokens = 4 * of_turn};

    EXPECT_EQ(first_of(4, window), "u0 of 8");
    EXPECT_EQ(first_of(5, window), "u2 of 6");
    EXPECT_EQ(first_of(5, {.max_messages = 1000, .max_tokens = 4 * of_turn}), "u2 of 6");
}

TEST(HistoryWindow, NeverSeparatesACallFromItsResult) {
    std::vector<message> messages;
    for (int turn = 0; turn < 40; ++turn) {
        const std::string number = std::to_string(turn);
        messages.push_back(user("u" + number, "question"));
        for (int round = 0; round <= turn % 5; ++round) {
            const std::string id = number + "." + std::to_string(round);
            messages.push_back(assistant("a" + id, "", {call("c" + id, "paint")}));
            messages.push_back(answer("c" + id, "done"));
        }
    }
    for (std::size_t most = 1; most < 60; ++most) {
        const std::vector<message> left = within_window(messages, {most, 0});
        ASSERT_EQ(left.front().role, role::user) << most;
        std::size_t calls = 0;
        std::size_t results = 0;
        for (const message& each : left) {
            calls += each.tool_calls.size();
            results += each.role == role::tool ? 1 : 0;
        }
        EXPECT_EQ(calls, results) << most;
    }
}

TEST(HistoryWindow, KeepsTheLastTurnHoweverLong) {
    std::vector<message> messages = turns(3);
    messages.push_back(user("last", std::string(10'000, 'x')));
    messages.push_back(assistant("a", "", {call("c", "paint")}));
    messages.push_back(answer("c", "done"));

    EXPECT_EQ(outline(within_window(messages, {.max_messages = 1, .max_tokens = 0})).size(), 3U);
    EXPECT_EQ(within_window(messages, {.max_messages = 0, .max_tokens = 10}).front().id, "last");
}

TEST(HistoryWindow, KeepsWhatComesBeforeTheFirstUserMessage) {
    std::vector<message> messages = turns(10);
    messages.insert(messages.begin(), other(role::system, "s1", "Be brief"));

    const std::vector<message> left = within_window(std::move(messages), {4, 0});

    EXPECT_EQ(left.front().id, "s1");
    EXPECT_EQ(left.at(1).role, role::user);
    EXPECT_LE(left.size(), 5U);
}

TEST(HistoryWindow, OfNothingOrWithoutAnyUserMessage) {
    EXPECT_TRUE(within_window({}, {1, 1}).empty());
    EXPECT_EQ(within_window({assistant("a1", "Hi"), assistant("a2", "Hi")}, {1, 0}).size(), 2U);
}

TEST(HistoryWindow, MediaCountAsAThousandTokens) {
    message picture = user("u1", "");
    picture.content = boost::json::array{
        {{"type", "text"}, {"text", "12345678"}},
        {{"type", "image"}, {"source", {{"type", "data"}, {"value", std::string(100'000, 'A')}}}}
    };

    EXPECT_EQ(estimated_tokens(picture), 4U + 2U + 1000U);
}

// A provider's prompt cache serves what a request has in common with the one before it.
TEST(HistoryWindow, RequestsOfALongConversationBeginAlike) {
    const history_window window{.max_messages = 60, .max_tokens = 0};
    thread_builder thread;
    std::string before;
    std::size_t sent = 0;
    std::size_t common = 0;
    int changes_of_start = 0;
    for (int turn = 0; turn < 200; ++turn) {
        const std::string number = std::to_string(turn);
        thread.user("u" + number, "question " + number);
        const thread_record& record = thread.build();
        const std::string now =
            bytes(model_history(record, record.branches.at(record.head).tip, window));
        const auto end = std::ranges::mismatch(before, now).in2;
        const auto shared = static_cast<std::size_t>(end - now.begin());
        sent += before.size();
        common += std::min(shared, before.size());
        changes_of_start += shared < before.size() ? 1 : 0;
        before = now;
        thread.assistant("a" + number, "answer " + number + std::string(200, '.'));
    }

    const double share = 100.0 * static_cast<double>(common) / static_cast<double>(sent);
    std::printf("share of the last request that the next one repeats: %.1f %%\n", share);
    EXPECT_GT(share, 90.0);
    // 400 messages, of which a block of 30 goes each time.
    EXPECT_LE(changes_of_start, 12);
}

} // namespace
} // namespace agui::session
