#include "session/history/history_window.hpp"

#include "session/history/model_history.hpp"
#include "tests/support/thread_builder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
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

// Turns of one question and one answer each.
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

TEST(HistoryWindow, KeepsTheUsersMessageWithThoseOfPluginsInItsTurn) {
    std::vector<message> messages = turns(3);
    for (int i = 0; i < 4; ++i) {
        message hint = user("p" + std::to_string(i), "More.");
        hint.by_plugin = true;
        messages.push_back(hint);
        messages.push_back(assistant("b" + std::to_string(i), "answer"));
    }

    const std::vector<message> left = within_window(messages, {.max_messages = 4});

    EXPECT_EQ(left.front().id, "u2");
    EXPECT_EQ(left.size(), 10U);
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

TEST(HistoryWindow, KeepsMessagesBeforeTheFirstUserMessage) {
    std::vector<message> messages = turns(10);
    messages.insert(messages.begin(), other(role::system, "s1", "Be brief"));

    const std::vector<message> left = within_window(std::move(messages), {4, 0});

    EXPECT_EQ(left.front().id, "s1");
    EXPECT_EQ(left.at(1).role, role::user);
    EXPECT_LE(left.size(), 5U);
}

TEST(HistoryWindow, HandlesAnEmptyThreadAndOneWithoutUserMessages) {
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

// Messages of any length, with calls that have a result and calls that have none.
thread_record random_thread(std::mt19937& random) {
    const auto below = [&random](unsigned most) {
        return std::uniform_int_distribution<unsigned>(0, most - 1)(random);
    };
    const auto text = [&] {
        return std::string(below(10) == 0 ? below(3000) : below(200), 'x');
    };
    thread_builder thread;
    if (below(4) == 0) {
        thread.add(other(role::system, "s", text()));
    }
    const unsigned turns = 1 + below(12);
    unsigned calls = 0;
    for (unsigned turn = 0; turn < turns; ++turn) {
        thread.user("u" + std::to_string(turn), text());
        for (unsigned round = below(8) == 0 ? below(20) : below(3); round > 0; --round) {
            const std::string id = "c" + std::to_string(calls++);
            const bool answered = below(3) != 0;
            thread.assistant(
                "a" + id, text(), {call(id, "paint", below(9) == 0 ? text() : "{}")},
                answered ? call_status::answered : call_status::dead
            );
            if (answered) {
                thread.answer(id, text());
            }
        }
        if (below(5) != 0) {
            thread.assistant("a" + std::to_string(turn), text());
        }
    }
    return thread.build();
}

struct extent {
    std::size_t messages = 0;
    std::uint64_t tokens = 0;
};

extent extent_of(const std::vector<message>& messages) {
    extent sum{messages.size(), 0};
    for (const message& each : messages) {
        sum.tokens += estimated_tokens(each);
    }
    return sum;
}

// The smallest rest: everything before the first user message, and the last turn.
std::vector<message> least_of(const std::vector<message>& all) {
    const auto is_user = [](const message& each) {
        return each.role == role::user;
    };
    const auto first = std::ranges::find_if(all, is_user);
    const auto last = std::find_if(all.rbegin(), all.rend(), is_user).base() - 1;
    std::vector<message> least(all.begin(), first);
    least.insert(least.end(), last, all.end());
    return least;
}

TEST(HistoryWindow, NoHistoryIsLongerThanItsWindowIfItsLastTurnFits) {
    std::mt19937 random(33); // NOLINT: the same histories each time.
    int shortened = 0;
    for (int i = 0; i < 400; ++i) {
        const thread_record thread = random_thread(random);
        const node_index tip = thread.branches.at(0).tip;
        const std::vector<message> all = model_history(thread, tip);
        const extent least = extent_of(least_of(all));
        const history_window window{
            .max_messages = i % 3 == 0 ? 0 : 1 + random() % 40,
            .max_tokens = i % 3 == 1 ? 0 : 1 + random() % 3000,
        };
        const auto fits = [&](const extent& what) {
            return (window.max_messages == 0 || what.messages <= window.max_messages) &&
                   (window.max_tokens == 0 || what.tokens <= window.max_tokens);
        };
        const std::vector<message> left = model_history(thread, tip, window);

        if (fits(least)) {
            ASSERT_TRUE(fits(extent_of(left)))
                << i << ": " << left.size() << " messages of " << window.max_messages << ", "
                << extent_of(left).tokens << " tokens of " << window.max_tokens;
        } else {
            ASSERT_EQ(bytes(left), bytes(least_of(all))) << i;
        }
        const auto turns = std::ranges::find(left, role::user, &message::role);
        const auto kept = static_cast<std::ptrdiff_t>(left.end() - turns);
        ASSERT_EQ(
            bytes(std::vector<message>(turns, left.end())),
            bytes(std::vector<message>(all.end() - kept, all.end()))
        ) << i;
        shortened += left.size() < all.size() ? 1 : 0;
    }
    EXPECT_GT(shortened, 100);
}

TEST(HistoryWindow, DropsSmallerBlocksWhereALongTurnMakesOneTooLarge) {
    std::vector<message> messages = turns(3);
    messages.push_back(user("u3", "question"));
    for (int round = 0; round < 4; ++round) {
        const std::string id = std::to_string(round);
        messages.push_back(assistant("b" + id, "", {call("c" + id, "paint")}));
        messages.push_back(answer("c" + id, "done"));
    }

    // Three turns of two messages, and one of nine. Half of 14 would be one block of all.
    EXPECT_EQ(within_window(messages, {.max_messages = 14, .max_tokens = 0}).size(), 11U);
    EXPECT_EQ(within_window(messages, {.max_messages = 12, .max_tokens = 0}).size(), 9U);
    EXPECT_EQ(within_window(messages, {.max_messages = 10, .max_tokens = 0}).size(), 9U);
}

TEST(HistoryWindow, CountsTheResultsThatARepairAdds) {
    thread_builder thread;
    for (int turn = 0; turn < 3; ++turn) {
        const std::string number = std::to_string(turn);
        thread.user("u" + number, "question");
        thread.assistant("a" + number, "", {call("c" + number, "paint")}, call_status::dead);
    }
    const thread_record& record = thread.build();

    // Six messages are stored, and nine would be sent.
    EXPECT_EQ(model_history(record, record.branches.at(0).tip, {7, 0}).size(), 3U);
}

// A provider's prompt cache serves the part that a request has in common with the one before it.
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
    // 400 messages, of which a block of 30 is dropped each time.
    EXPECT_LE(changes_of_start, 12);
}

} // namespace
} // namespace agui::session
