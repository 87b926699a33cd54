#include "gateway/base/log_interval.hpp"

#include <gtest/gtest.h>

namespace agui::test {
namespace {

using std::chrono::seconds;

TEST(LogInterval, LetsOneLineThroughInEachPeriod) {
    gateway::log_interval interval(seconds(60));
    const gateway::log_interval::time_point start(seconds(1000));

    EXPECT_TRUE(interval.due(start));
    EXPECT_FALSE(interval.due(start));
    EXPECT_FALSE(interval.due(start + seconds(59)));
    EXPECT_TRUE(interval.due(start + seconds(60)));
    EXPECT_FALSE(interval.due(start + seconds(119)));
    EXPECT_TRUE(interval.due(start + seconds(1000)));
}

} // namespace
} // namespace agui::test
