#include "session/base/white_space.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace agui {
namespace {

TEST(WhiteSpace, IsThatOfUnicode) {
    for (const std::string_view text :
         {"", " ", "\t\r\n\v\f", "\xC2\xA0", "\xC2\x85", "\xE2\x80\x83\xE3\x80\x80",
          " \xE2\x80\xA8\xE2\x80\xAF\n"}) {
        EXPECT_TRUE(is_blank(text)) << text;
    }
    for (const std::string_view text :
         {"a", " a ", ".", "\xC2\xA1", "\xE2\x80\x8B", "\xE2\x80", "\xC2", "\xA0"}) {
        EXPECT_FALSE(is_blank(text)) << text;
    }
    EXPECT_FALSE(is_blank(std::string_view("\0", 1)));
}

TEST(WhiteSpace, IsTrimmedAtBothEndsAndNowhereElse) {
    EXPECT_EQ(trimmed("paint"), "paint");
    EXPECT_EQ(trimmed(" \n pa int\t\xC2\xA0"), "pa int");
    EXPECT_EQ(trimmed("\xE3\x80\x80\xC3\xA9\xE3\x80\x80"), "\xC3\xA9");
    EXPECT_EQ(trimmed(" \xE2\x80\x83 "), "");
    EXPECT_EQ(trimmed("\xA0"), "\xA0") << "half a character is none";
}

} // namespace
} // namespace agui
