#include "gateway/http/conditional_request.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace agui::gateway {
namespace {

using namespace std::chrono_literals;
using header = std::pair<std::string, std::string>;

// Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::chrono::sys_seconds modified =
    std::chrono::sys_days(std::chrono::year_month_day(1994y, std::chrono::November, 6d)) + 8h +
    49min + 37s;
const std::string date = "Sun, 06 Nov 1994 08:49:37 GMT";
const std::string earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
const file_version version{"\"a\"", modified};

precondition checked(std::vector<header> headers) {
    http_request request;
    request.method = "GET";
    request.headers = std::move(headers);
    return check_preconditions(request, version);
}

TEST(Preconditions, HoldWithoutAny) { EXPECT_EQ(checked({}), precondition::holds); }

TEST(Preconditions, AVersionThatTheClientHasIsNotSentAgain) {
    for (const std::string list :
         {"\"a\"", "W/\"a\"", "*", " * ", "\"b\", \"a\"", "\"b\",W/\"a\"", "\"x,y\" , \"a\"",
          ", \"a\"", "\"\",\"a\""}) {
        EXPECT_EQ(checked({{"if-none-match", list}}), precondition::not_modified) << list;
    }
    for (const std::string list : {"", "a", "\"A\"", "\"a", "w/\"a\"", "\"b\", *", "\"b,\"a\""}) {
        EXPECT_EQ(checked({{"if-none-match", list}}), precondition::holds) << list;
    }
    EXPECT_EQ(
        checked({{"if-none-match", "\"b\""}, {"if-none-match", "\"a\""}}),
        precondition::not_modified
    );
}

TEST(Preconditions, ATagCountsMoreThanADate) {
    EXPECT_EQ(
        checked({{"if-none-match", "\"b\""}, {"if-modified-since", date}}), precondition::holds
    );
    EXPECT_EQ(
        checked({{"if-match", "\"a\""}, {"if-unmodified-since", earlier}}), precondition::holds
    );
}

TEST(Preconditions, AFileThatIsNoNewerIsNotSentAgain) {
    EXPECT_EQ(checked({{"if-modified-since", date}}), precondition::not_modified);
    EXPECT_EQ(
        checked({{"if-modified-since", "Sunday, 06-Nov-94 08:49:37 GMT"}}),
        precondition::not_modified
    );
    EXPECT_EQ(checked({{"if-modified-since", earlier}}), precondition::holds);
    EXPECT_EQ(checked({{"if-modified-since", "yesterday"}}), precondition::holds);
    EXPECT_EQ(
        checked({{"if-modified-since", date}, {"if-modified-since", date}}), precondition::holds
    );
}

TEST(Preconditions, AnotherVersionThanTheDemandedOneFails) {
    EXPECT_EQ(checked({{"if-match", "\"b\", \"a\""}}), precondition::holds);
    EXPECT_EQ(checked({{"if-match", "*"}}), precondition::holds);
    EXPECT_EQ(checked({{"if-match", "\"b\""}}), precondition::fails);
    EXPECT_EQ(checked({{"if-match", "W/\"a\""}}), precondition::fails) << "compared strongly";
    EXPECT_EQ(checked({{"if-unmodified-since", date}}), precondition::holds);
    EXPECT_EQ(checked({{"if-unmodified-since", earlier}}), precondition::fails);
    EXPECT_EQ(checked({{"if-unmodified-since", "yesterday"}}), precondition::holds);
}

/// Returns `first+size` for a file of `size` bytes, or `whole` or `none`.
std::string
part(const std::string& range, std::uint64_t size = 100, std::vector<header> more = {}) {
    http_request request;
    request.method = "GET";
    request.headers = std::move(more);
    request.headers.emplace_back("range", range);
    const auto found = requested_range(request, version, size);
    if (const auto* bytes = std::get_if<byte_range>(&found)) {
        return std::to_string(bytes->first) + '+' + std::to_string(bytes->size);
    }
    return std::holds_alternative<whole_file>(found) ? "whole" : "none";
}

TEST(RequestedRange, IsReadFromTheHeader) {
    EXPECT_EQ(part("bytes=0-0"), "0+1");
    EXPECT_EQ(part("bytes=0-99"), "0+100");
    EXPECT_EQ(part("bytes=10-19"), "10+10");
    EXPECT_EQ(part("bytes=10-"), "10+90");
    EXPECT_EQ(part("bytes=99-"), "99+1");
    EXPECT_EQ(part("bytes=-1"), "99+1");
    EXPECT_EQ(part("Bytes= 10-19 "), "10+10");
}

TEST(RequestedRange, EndsWhereTheFileEnds) {
    EXPECT_EQ(part("bytes=90-1000"), "90+10");
    EXPECT_EQ(part("bytes=0-18446744073709551615"), "0+100");
    EXPECT_EQ(part("bytes=0-99999999999999999999999"), "0+100");
    EXPECT_EQ(part("bytes=-1000"), "0+100");
    EXPECT_EQ(part("bytes=-99999999999999999999999"), "0+100");
}

TEST(RequestedRange, CannotBeginAfterTheEnd) {
    EXPECT_EQ(part("bytes=100-"), "none");
    EXPECT_EQ(part("bytes=100-200"), "none");
    EXPECT_EQ(part("bytes=99999999999999999999999-"), "none");
    EXPECT_EQ(part("bytes=-0"), "none");
    EXPECT_EQ(part("bytes=0-", 0), "none");
    EXPECT_EQ(part("bytes=-5", 0), "whole") << "no range can say so";
}

TEST(RequestedRange, IsIgnoredUnlessItIsASingleValidOne) {
    for (const std::string range :
         {"", "bytes", "bytes=", "bytes=-", "bytes=5", "bytes=5-4", "bytes=a-b", "bytes=1-2x",
          "bytes=+1-2", "bytes=--1", "bytes=1--2", "bytes=1-2,3-4", "bytes=1-2,", "lines=1-2",
          "bytes 1-2", "bytes=0x1-2", "bytes=1 - 2"}) {
        EXPECT_EQ(part(range), "whole") << range;
    }
    EXPECT_EQ(part("bytes=1-2", 100, {{"range", "bytes=1-2"}}), "whole");
}

TEST(RequestedRange, IsOfTheVersionThatTheClientHas) {
    EXPECT_EQ(part("bytes=1-2", 100, {{"if-range", "\"a\""}}), "1+2");
    EXPECT_EQ(part("bytes=1-2", 100, {{"if-range", "\"b\""}}), "whole");
    EXPECT_EQ(part("bytes=1-2", 100, {{"if-range", "W/\"a\""}}), "whole");
    EXPECT_EQ(part("bytes=1-2", 100, {{"if-range", date}}), "whole");
}

TEST(RequestedRange, IsForGetAlone) {
    http_request request;
    request.method = "HEAD";
    request.headers = {{"range", "bytes=1-2"}};

    EXPECT_TRUE(std::holds_alternative<whole_file>(requested_range(request, version, 100)));
}

} // namespace
} // namespace agui::gateway
