#include "gateway/base/warned_names.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui::gateway {
namespace {

using time_point = warned_names::time_point;
using std::chrono::minutes;

TEST(WarnedNames, EachNameOfAKindIsDueOnceAnHour) {
    warned_names names;
    const time_point start(std::chrono::hours(100));

    EXPECT_TRUE(names.due("member", "a", start));
    EXPECT_FALSE(names.due("member", "a", start + minutes(59)));
    EXPECT_TRUE(names.due("member", "b", start + minutes(59)));
    EXPECT_TRUE(names.due("model", "a", start + minutes(59)));
    EXPECT_TRUE(names.due("member", "a", start + minutes(60)));
    EXPECT_FALSE(names.due("member", "a", start + minutes(61)));
}

TEST(WarnedNames, NamesThatDoNotFitAreNeverDueUntilOthersExpire) {
    warned_names names;
    const time_point start(std::chrono::hours(100));
    for (int i = 0; i < 256; ++i) {
        EXPECT_TRUE(names.due("member", std::to_string(i), start));
    }

    EXPECT_FALSE(names.due("member", "one more", start + minutes(59)));
    EXPECT_FALSE(names.due("member", "7", start + minutes(59)));
    EXPECT_TRUE(names.due("member", "one more", start + minutes(60)));
    EXPECT_TRUE(names.due("member", "7", start + minutes(60)));
}

} // namespace
} // namespace agui::gateway
