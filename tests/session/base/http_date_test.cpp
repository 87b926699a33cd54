#include "session/base/http_date.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string_view>

namespace agui {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds example =
    std::chrono::sys_days(std::chrono::year_month_day(1994y, std::chrono::November, 6d)) + 8h +
    49min + 37s;

TEST(HttpDate, IsWrittenInTheFixedForm) {
    EXPECT_EQ(format_http_date(example), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(format_http_date(std::chrono::sys_seconds{}), "Thu, 01 Jan 1970 00:00:00 GMT");
    EXPECT_EQ(format_http_date(std::chrono::sys_seconds(-1s)), "Wed, 31 Dec 1969 23:59:59 GMT");
}

TEST(HttpDate, IsReadInEachForm) {
    for (const std::string_view text :
         {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
          "Sun Nov  6 08:49:37 1994"}) {
        EXPECT_EQ(parse_http_date(text), example) << text;
    }
}

TEST(HttpDate, IsNothingElse) {
    for (const std::string_view text :
         {"", "0", "1994-11-06T08:49:37Z", "Sun, 31 Feb 1994 08:49:37 GMT", "08:49:37",
          "Sun, 06 Nov 1994", "Tue, 257 Nov 1994 08:49:37 GMT"}) {
        EXPECT_EQ(parse_http_date(text), std::nullopt) << text;
    }
}

} // namespace
} // namespace agui
