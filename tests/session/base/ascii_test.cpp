#include "session/base/ascii.hpp"

#include <gtest/gtest.h>

#include <string>

namespace agui {
namespace {

TEST(Ascii, LowersLettersAndNothingElse) {
    EXPECT_EQ(to_lower("Content-TYPE @[`{ 09 \xC3\x84"), "content-type @[`{ 09 \xC3\x84");
    EXPECT_EQ(to_lower('A'), 'a');
    EXPECT_EQ(to_lower('Z'), 'z');
    EXPECT_EQ(to_lower('@'), '@');
    EXPECT_EQ(to_lower('['), '[');
}

TEST(Ascii, ComparesTextsButNotTheCaseOfTheirLetters) {
    EXPECT_TRUE(equal_ignoring_case("", ""));
    EXPECT_TRUE(equal_ignoring_case("Keep-Alive", "keep-aLIVE"));
    EXPECT_FALSE(equal_ignoring_case("keep", "keep-alive"));
    EXPECT_FALSE(equal_ignoring_case("a@", "a`"));
    EXPECT_FALSE(equal_ignoring_case("\xC3\x84", "\xC3\xA4"));
}

} // namespace
} // namespace agui
