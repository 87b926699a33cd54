#include "gateway/quota/request_rates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

const request_rates::time_point begin{seconds(1'000'000)};

bool is_allowed(
    request_rates& rates, request_rates::time_point now, std::uint32_t limit = 3,
    std::string subject = "principal:a"
) {
    return !rates.add({{"principal", std::move(subject), limit}}, now).at(0).exceeded;
}

TEST(RequestRates, AllowsTheLimitAndNoMore) {
    request_rates rates;
    EXPECT_TRUE(is_allowed(rates, begin));
    EXPECT_TRUE(is_allowed(rates, begin));
    EXPECT_TRUE(is_allowed(rates, begin));
    EXPECT_FALSE(is_allowed(rates, begin));
    EXPECT_TRUE(is_allowed(rates, begin, 3, "principal:b"));

    EXPECT_FALSE(is_allowed(rates, begin + seconds(60)));
    EXPECT_TRUE(is_allowed(rates, begin + seconds(61)));
}

TEST(RequestRates, ARefusedRequestDoesNotCount) {
    request_rates rates;
    for (int i = 0; i < 100; ++i) {
        (void)is_allowed(rates, begin + seconds(i % 60));
    }
    EXPECT_TRUE(is_allowed(rates, begin + seconds(61)));
}

TEST(RequestRates, SaysWhatRemainsAndForHowLong) {
    request_rates rates;
    const request_rates::claim claim{"principal", "principal:a", 2};
    EXPECT_EQ(rates.look(claim, begin).remaining, 2U);

    const auto first = rates.add({claim}, begin).at(0);
    EXPECT_EQ(first.remaining, 1U);
    EXPECT_EQ(first.reset, 61);
    const auto second = rates.add({claim}, begin + seconds(10)).at(0);
    EXPECT_EQ(second.remaining, 0U);
    EXPECT_EQ(second.reset, 51);
    const auto third = rates.add({claim}, begin + seconds(20)).at(0);
    EXPECT_TRUE(third.exceeded);
    EXPECT_EQ(third.reset, 41);
    EXPECT_FALSE(rates.add({claim}, begin + seconds(20 + 41)).at(0).exceeded);
}

TEST(RequestRates, CountsForAllSubjectsOrForNone) {
    request_rates rates;
    const request_rates::claim of_user{"principal", "principal:a", 5};
    const request_rates::claim of_tenant{"tenant", "tenant:t", 1};
    (void)rates.add({of_user, of_tenant}, begin);

    const auto refused = rates.add({of_user, of_tenant}, begin);

    EXPECT_FALSE(refused.at(0).exceeded);
    EXPECT_TRUE(refused.at(1).exceeded);
    EXPECT_EQ(rates.look(of_user, begin).remaining, 4U);
}

// Any 60 s are looked at, not only minutes of a clock.
TEST(RequestRates, NeverAllowMoreInAnyMinute) {
    constexpr std::size_t limit = 20;
    request_rates rates;
    std::mt19937 random(40);
    std::deque<request_rates::time_point> allowed;
    auto now = begin;
    for (int i = 0; i < 20'000; ++i) {
        now += milliseconds(std::uniform_int_distribution(0, 2'000)(random));
        if (is_allowed(rates, now, limit)) {
            allowed.push_back(now);
        }
        while (allowed.front() <= now - seconds(60)) {
            allowed.pop_front();
        }
        ASSERT_LE(allowed.size(), limit) << i;
    }
}

TEST(RequestRates, ForgetsIdleSubjectsAndIsBounded) {
    request_rates rates(10);
    for (int i = 0; i < 100; ++i) {
        (void)is_allowed(rates, begin, 3, "address:" + std::to_string(i));
    }
    EXPECT_LE(rates.size(), 11U);
    EXPECT_FALSE(is_allowed(rates, begin, 3, "address:new")) << "the rest share one count";
    EXPECT_TRUE(is_allowed(rates, begin, 3, "address:1")) << "those that are known do not";

    EXPECT_TRUE(is_allowed(rates, begin + seconds(120), 3, "address:new"));
    EXPECT_LE(rates.size(), 2U);
}

TEST(RequestRates, ManyAddressesTakeNoPlaceOfUsers) {
    request_rates rates(10);
    for (int i = 0; i < 100; ++i) {
        (void)rates.add({{"address", "address:" + std::to_string(i), 3}}, begin);
    }

    for (int i = 0; i < 5; ++i) {
        const auto states = rates.add({{"principal", "principal:" + std::to_string(i), 1}}, begin);
        EXPECT_FALSE(states.at(0).exceeded) << i;
    }
}

TEST(RequestRates, WriteTheHeadersOfTheDraft) {
    std::vector<std::pair<std::string, std::string>> headers;
    add_rate_headers({{"address", 100, 99, 61, false}, {"principal", 60, 0, 12, true}}, headers);

    EXPECT_THAT(
        headers, ElementsAre(
                     Pair("RateLimit-Policy", R"("address";q=100;w=60, "principal";q=60;w=60)"),
                     Pair("RateLimit", R"("address";r=99;t=61, "principal";r=0;t=12)")
                 )
    );
    headers.clear();
    add_rate_headers({}, headers);
    EXPECT_TRUE(headers.empty());
}

} // namespace
} // namespace agui::gateway
