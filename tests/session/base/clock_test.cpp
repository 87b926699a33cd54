#include "session/base/clock.hpp"

#include <gtest/gtest.h>

namespace agui::test {
namespace {

TEST(IsoTime, HasMillisecondsAndLeadingZeros) {
    EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(1'800'000'000'007), "2027-01-15T08:00:00.007Z");
    EXPECT_EQ(iso_time(1'709'251'199'999), "2024-02-29T23:59:59.999Z");
}

TEST(IsoTime, OfTheFirstAndTheLastYear) {
    EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(iso_time(-62'167'219'200'000), "0000-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(253'402'300'799'999), "9999-12-31T23:59:59.999Z");
}

} // namespace
} // namespace agui::test
