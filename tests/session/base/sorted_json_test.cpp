#include "session/base/sha256_text.hpp"
#include "session/base/sorted_json.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui {
namespace {

std::string sorted(std::string_view text) { return sorted_json(boost::json::parse(text)); }

TEST(SortedJson, DoesNotDependOnTheOrderOfMembers) {
    EXPECT_EQ(
        sorted(R"({"b":[{"d":1,"c":"x"}],"a":{}})"), sorted(R"({"a":{},"b":[{"c":"x","d":1}]})")
    );
    EXPECT_EQ(
        sorted(R"({"b":1,"a":2})"), sorted_json(boost::json::parse(R"({"a":2,"b":1})").get_object())
    );
}

TEST(SortedJson, DiffersForOtherValues) {
    EXPECT_NE(sorted("[1,2]"), sorted("[2,1]"));
    EXPECT_NE(sorted(R"({"a":"1"})"), sorted(R"({"a":1})"));
    EXPECT_NE(sorted(R"({"a":1,"b":2})"), sorted(R"({"a":{"b":2}})"));
    EXPECT_NE(sorted(R"({"a\"b":1})"), sorted(R"({"a":1})"));
}

TEST(Sha256Text, IsHexadecimal) {
    EXPECT_EQ(
        sha256_text("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

} // namespace
} // namespace agui
