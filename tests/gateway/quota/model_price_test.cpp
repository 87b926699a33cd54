#include "gateway/quota/model_price.hpp"

#include <gtest/gtest.h>

namespace agui::gateway {
namespace {

TEST(ModelPrice, IsExactAndRoundedUpToAMillionth) {
    const model_price price{2'500'000, 10'000'000, 250'000}; // 2.50, 10 and 0.25 a million.

    EXPECT_EQ(cost_of(price, 1'000'000, 0), 2'500'000);
    EXPECT_EQ(cost_of(price, 0, 1'000'000), 10'000'000);
    EXPECT_EQ(cost_of(price, 1, 0), 3) << "2.5 millionths";
    EXPECT_EQ(cost_of(price, 2, 0), 5);
    EXPECT_EQ(cost_of(price, 1'000, 0, 400), 1'600) << "600 tokens and 400 from the cache";
    EXPECT_EQ(cost_of(price, 0, 0), 0);
}

TEST(ModelPrice, BelievesNoImpossibleCounts) {
    const model_price price{1'000'000, 1'000'000, 0};

    EXPECT_EQ(cost_of(price, 10, 0, 50), 0) << "no more can be cached than was sent";
    EXPECT_EQ(cost_of(price, -5, -5, -5), 0);
    EXPECT_EQ(cost_of({price_max, price_max, price_max}, INT64_MAX, INT64_MAX), session::usage_max);
}

TEST(ModelPrice, AmountsAreWrittenAsDecimals) {
    EXPECT_EQ(money_text(0), "0");
    EXPECT_EQ(money_text(1), "0.000001");
    EXPECT_EQ(money_text(12'500), "0.0125");
    EXPECT_EQ(money_text(3'000'000), "3");
    EXPECT_EQ(money_text(-1'500'000), "-1.5");
}

} // namespace
} // namespace agui::gateway
