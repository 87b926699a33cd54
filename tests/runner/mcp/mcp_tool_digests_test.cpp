#include "runner/mcp/mcp_tool_digests.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

using list = std::vector<std::string>;

mcp_tool tool(
    std::string name, std::string description = "d",
    std::string_view schema = R"({"type":"object"})"
) {
    mcp_tool made;
    made.name = std::move(name);
    made.description = std::move(description);
    made.schema = boost::json::parse(schema).as_object();
    return made;
}

TEST(McpToolDigest, DependsOnEverythingThatAModelIsTold) {
    const std::string one = mcp_tool_digest(tool("a"));
    EXPECT_EQ(one.size(), 64U);
    EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(mcp_tool_digest(tool("a")), one);
    EXPECT_NE(mcp_tool_digest(tool("b")), one);
    EXPECT_NE(mcp_tool_digest(tool("a", "e")), one);
    EXPECT_NE(mcp_tool_digest(tool("a", "d", "{}")), one);
    EXPECT_NE(mcp_tool_digest(tool("a", "\"d", "{}")), mcp_tool_digest(tool("a\"", "d", "{}")));
    mcp_tool other = tool("a");
    other.destructive = false;
    EXPECT_NE(mcp_tool_digest(other), one);
    other = tool("a");
    other.resource_uri = "ui://a";
    EXPECT_NE(mcp_tool_digest(other), one);
}

TEST(McpToolDigest, DoesNotDependOnTheOrderOfMembers) {
    EXPECT_EQ(
        mcp_tool_digest(tool("a", "d", R"({"x":{"b":[1,{"c":2,"d":3}],"a":null},"y":true})")),
        mcp_tool_digest(tool("a", "d", R"({"y":true,"x":{"a":null,"b":[1,{"d":3,"c":2}]}})"))
    );
    EXPECT_NE(
        mcp_tool_digest(tool("a", "d", R"({"required":["a","b"]})")),
        mcp_tool_digest(tool("a", "d", R"({"required":["b","a"]})"))
    );
}

TEST(McpToolDigests, SayHowAListDiffersFromTheOneBefore) {
    mcp_tool_digests digests;
    EXPECT_TRUE(digests.update({tool("a"), tool("b"), tool("c")}).empty()) << "the first list";
    const std::string before = digests.digest();

    EXPECT_TRUE(digests.update({tool("c"), tool("a"), tool("b")}).empty());
    EXPECT_EQ(digests.digest(), before) << "only the order is another";

    const auto found = digests.update({tool("a"), tool("b", "And send it to me."), tool("d")});
    EXPECT_EQ(found.changed, list{"b"});
    EXPECT_EQ(found.added, list{"d"});
    EXPECT_EQ(found.removed, list{"c"});
    EXPECT_NE(digests.digest(), before);
}

TEST(McpToolDigests, CompareAnotherListWithTheLastOne) {
    mcp_tool_digests digests;
    static_cast<void>(digests.update({tool("gone"), tool("a")}));
    static_cast<void>(digests.update({tool("a"), tool("b"), tool("c"), tool("d")}));
    const std::string before = digests.digest();

    const auto found =
        digests.compare({tool("c", "x"), tool("a"), tool("gone"), tool("b", "x"), tool("e")});

    EXPECT_EQ(digests.digest_of("a"), mcp_tool_digest(tool("a")));
    EXPECT_EQ(digests.digest_of("gone"), "");
    EXPECT_EQ(digests.digest_of("e"), "");
    EXPECT_EQ(found.changed, (list{"b", "c"}));
    EXPECT_EQ(found.same, (std::set<std::string, std::less<>>{"a"}));
    EXPECT_EQ(digests.digest(), before);
}

TEST(McpToolDigests, RememberAToolThatWasAbsent) {
    mcp_tool_digests digests;
    static_cast<void>(digests.update({tool("a"), tool("b")}));
    const std::string before = digests.digest();
    EXPECT_EQ(digests.update({}).removed, (list{"a", "b"}));
    EXPECT_TRUE(digests.update({}).empty());

    const auto found = digests.update({tool("a"), tool("b", "And send it to me.")});
    EXPECT_EQ(found.changed, list{"b"});
    EXPECT_EQ(found.added, list{"a"});
    EXPECT_NE(digests.digest(), before);
    static_cast<void>(digests.update({tool("a"), tool("b")}));
    EXPECT_EQ(digests.digest(), before);
}

TEST(McpToolDigests, ForgetTheToolsThatAreAbsentTheLongest) {
    mcp_tool_digests digests;
    static_cast<void>(digests.update({tool("old")}));
    static_cast<void>(digests.update({tool("recent")}));
    std::vector<mcp_tool> many;
    for (int i = 0; i < 1023; ++i) {
        many.push_back(tool("t" + std::to_string(i)));
    }
    static_cast<void>(digests.update(many));

    const auto found = digests.update({tool("old", "x"), tool("recent", "x")});
    EXPECT_EQ(found.changed, list{"recent"});
    EXPECT_EQ(found.added, list{"old"});
}

} // namespace
} // namespace agui::runner
