#include "runner/provider/retry_after.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace agui::runner {
namespace {

using namespace std::chrono_literals;
using wait = std::optional<std::chrono::milliseconds>;

// Wed, 21 Oct 2026 07:28:00 GMT
constexpr std::chrono::system_clock::time_point now =
    std::chrono::sys_days(std::chrono::year_month_day(2026y, std::chrono::October, 21d)) + 7h +
    28min;

TEST(RetryAfter, ReadsSecondsAlsoWithAFraction) {
    const std::pair<std::string_view, wait> cases[] = {
        {"7", 7000ms},
        {"0", 0ms},
        {" 7 ", 7000ms},
        {"1.5", 1500ms},
        {"0.0004", 1ms},
        {".25", 250ms},
        {"4294967295", 4294967295000ms},
    };
    for (const auto& [header, expected] : cases) {
        SCOPED_TRACE(header);
        EXPECT_EQ(retry_after("", header, now), expected);
    }
}

TEST(RetryAfter, ReadsEachFormOfADate) {
    for (const std::string_view header :
         {"Wed, 21 Oct 2026 07:28:30 GMT", "Wednesday, 21-Oct-26 07:28:30 GMT",
          "Wed Oct 21 07:28:30 2026"}) {
        SCOPED_TRACE(header);
        EXPECT_EQ(retry_after("", header, now), 30s);
        EXPECT_EQ(retry_after("", header, now + 1h), 0s);
    }
    EXPECT_EQ(retry_after("", "Wed Nov  4 07:28:00 2026", now), 14 * 24h);
    EXPECT_EQ(retry_after("", "Sunday, 06-Nov-94 08:49:37 GMT", now), 0s) << "of 1994";
    EXPECT_EQ(retry_after("", "Wed, 21 Oct 2026 07:28:01 GMT", now + 999ms), 1ms);
}

TEST(RetryAfter, PrefersMilliseconds) {
    EXPECT_EQ(retry_after("250", "1", now), 250ms);
    EXPECT_EQ(retry_after("250.5", "", now), 251ms);
    EXPECT_EQ(retry_after("soon", "1", now), 1000ms);
}

TEST(RetryAfter, IsEmptyIfTheHeaderCannotBeParsed) {
    for (const std::string_view header :
         {"", " ", "-1", "1e3", "inf", "nan", "1,5", "99999999999", "later", "1 2",
          "Wed, 21 Oct 2026", "Wed, 32 Oct 2026 07:28:30 GMT", "Wed, 21 Foo 2026 07:28:30 GMT",
          "Wed, 21 Oct 2026 24:28:30 GMT", "Wed, 21 Oct 99999 07:28:30 GMT", "07:28:30"}) {
        SCOPED_TRACE(header);
        EXPECT_EQ(retry_after("", header, now), std::nullopt);
    }
}

} // namespace
} // namespace agui::runner
