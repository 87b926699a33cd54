#include "session/base/clock.hpp"

#include <gtest/gtest.h>

namespace agui::test {
namespace {

TEST(IsoTime, HasMillisecondsAndLeadingZeros) {
    EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(1'800'000'000'007), "2027-01-15T08:00:00.007Z");
    EXPECT_EQ(iso_time(1'709'251'199'999), "2024-02-29T23:59:59.999Z");
}

TEST(IsoTime, BeforeTheEpochAndFarAway) {
    EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(iso_time(-62'135'596'800'000), "0001-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(-62'198'755'200'000), "-0001-01-01T00:00:00.000Z");
    EXPECT_EQ(iso_time(253'402'300'800'000), "10000-01-01T00:00:00.000Z");
}

} // namespace
} // namespace agui::test
