// Stops that arrive before their request.

#include "gateway/run/early_stops.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace agui::test {
namespace {

using gateway::conversation_key;
using gateway::early_stops;
using std::chrono::seconds;

const early_stops::time_point start{seconds(1000)};

conversation_key conversation(std::string thread, std::string principal = {}) {
    return {{std::move(principal), std::move(thread)}, false};
}

TEST(EarlyStops, OneWithARunIdIsForTheRequestOfThatIdOnce) {
    early_stops kept({});
    kept.add(conversation("t"), "r", start);

    EXPECT_FALSE(kept.take(conversation("t"), "other", start, start));
    EXPECT_FALSE(kept.take(conversation("other"), "r", start, start));
    EXPECT_TRUE(kept.take(conversation("t"), "r", start + seconds(1), start + seconds(2)));
    EXPECT_FALSE(kept.take(conversation("t"), "r", start + seconds(1), start + seconds(2)));
}

TEST(EarlyStops, OneOfAThreadIsForAllThatWereBeingReceived) {
    early_stops kept({});
    kept.add(conversation("t"), "", start);

    EXPECT_TRUE(kept.take(conversation("t"), "r", start - seconds(1), start + seconds(2)));
    EXPECT_TRUE(kept.take(conversation("t"), "s", start, start + seconds(2)));
    EXPECT_FALSE(kept.take(conversation("t"), "u", start + seconds(1), start + seconds(2)));
    EXPECT_FALSE(kept.take(conversation("other"), "r", start - seconds(1), start + seconds(2)));
}

TEST(EarlyStops, TheLastOneOfAThreadCounts) {
    early_stops kept({});
    kept.add(conversation("t"), "", start);
    kept.add(conversation("t"), "", start + seconds(2));

    EXPECT_EQ(kept.size(), 1U);
    EXPECT_TRUE(kept.take(conversation("t"), "r", start + seconds(1), start + seconds(3)));
}

TEST(EarlyStops, TheyAreKeptForAWhileOnly) {
    early_stops kept({});
    kept.add(conversation("t"), "r", start);
    kept.add(conversation("t"), "", start);

    EXPECT_FALSE(kept.take(conversation("t"), "r", start - seconds(1), start + seconds(60)));
    EXPECT_EQ(kept.size(), 0U);
}

TEST(EarlyStops, OneThatIsForgottenIsGone) {
    early_stops kept({});
    kept.add(conversation("t"), "r", start);
    kept.forget(conversation("t"), "r");

    EXPECT_EQ(kept.size(), 0U);
    EXPECT_FALSE(kept.take(conversation("t"), "r", start, start));
}

TEST(EarlyStops, NobodyPushesOutAnothersStops) {
    early_stops kept({.each_principal = 3, .in_all = 100});
    kept.add(conversation("t", "quiet"), "r", start);
    for (int i = 0; i < 50; ++i) {
        kept.add(conversation("t", "loud"), std::to_string(i), start);
    }

    EXPECT_EQ(kept.size(), 4U);
    EXPECT_TRUE(kept.take(conversation("t", "quiet"), "r", start, start));
    EXPECT_TRUE(kept.take(conversation("t", "loud"), "49", start, start));
    EXPECT_FALSE(kept.take(conversation("t", "loud"), "0", start, start))
        << "its own oldest has gone";
}

TEST(EarlyStops, InAllTheOldestGoFirst) {
    early_stops kept({.each_principal = 3, .in_all = 5});
    for (int i = 0; i < 10; ++i) {
        kept.add(conversation("t", std::to_string(i)), "r", start);
    }

    EXPECT_EQ(kept.size(), 5U);
    EXPECT_FALSE(kept.take(conversation("t", "4"), "r", start, start));
    EXPECT_TRUE(kept.take(conversation("t", "5"), "r", start, start));
}

} // namespace
} // namespace agui::test
