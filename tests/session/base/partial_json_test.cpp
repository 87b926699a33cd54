#include "session/base/partial_json.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace agui {
namespace {

TEST(PartialJson, KeepsWhatIsComplete) {
    EXPECT_EQ(complete_json(R"({"a":1,"b":[1,2)"), R"({"a":1,"b":[1]})");
    EXPECT_EQ(complete_json(R"({"a":1,"b)"), R"({"a":1})");
    EXPECT_EQ(complete_json(R"({"a":1,"b":)"), R"({"a":1})");
    EXPECT_EQ(complete_json(R"({"a":tr)"), "{}");
    EXPECT_EQ(complete_json(R"({"a":"x\"y","b":{}})"), R"({"a":"x\"y","b":{}})");
    EXPECT_EQ(complete_json(""), "");
}

TEST(PartialJson, EndsAnOpenTextWhereItIs) {
    EXPECT_EQ(complete_json(R"({"a":["x","yz)"), R"({"a":["x","yz"]})");
    EXPECT_EQ(complete_json(R"({"a":"x\)"), R"({"a":"x"})");
    EXPECT_EQ(complete_json(R"({"a":"x\u00e)"), R"({"a":"x"})");
    EXPECT_EQ(complete_json(R"({"a":"x\u00e9)"), R"({"a":"x\u00e9"})");
}

TEST(PartialJson, IsOnlyReadForObjectsAndArrays) {
    EXPECT_FALSE(parse_partial(""));
    EXPECT_FALSE(parse_partial("\"a"));
    EXPECT_FALSE(parse_partial("{]"));
    EXPECT_FALSE(parse_partial("[[[", 2));
}

// Each beginning of a text has a value, and members only grow.
TEST(PartialJson, EachBeginningOfATextIsRead) {
    constexpr std::string_view whole =
        R"( {"title":"A \"b\" \u00e9\n","list":[1,-2.5e3,true,null,{"x":[]},"y"],"n":{"":0}} )";
    std::size_t longest = 0;
    for (std::size_t size = whole.find('{') + 1; size <= whole.size(); ++size) {
        const auto value = parse_partial(whole.substr(0, size));
        ASSERT_TRUE(value) << whole.substr(0, size) << " as "
                           << complete_json(whole.substr(0, size));
        const std::size_t members = value->as_object().size();
        EXPECT_GE(members, longest);
        longest = members;
    }
    EXPECT_EQ(*parse_partial(whole), boost::json::parse(whole));
}

} // namespace
} // namespace agui
