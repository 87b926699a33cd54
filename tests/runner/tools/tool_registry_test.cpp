#include "runner/tools/tool_registry.hpp"

#include "runner/base/tool_schema.hpp"

#include <boost/json/parse.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

tool_function function() {
    return [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{};
    };
}

tool_definition named(std::string name) {
    tool_definition result;
    result.name = std::move(name);
    return result;
}

std::vector<std::string> names(const std::vector<tool_definition>& definitions) {
    std::vector<std::string> result;
    for (const tool_definition& each : definitions) {
        result.push_back(each.name);
    }
    return result;
}

class ToolRegistry : public ::testing::Test {
protected:
    ToolRegistry() {
        for (const std::string name : {"weather", "mcp__files__read", "add", "mcp__files__write"}) {
            registry.add(named(name), function());
        }
    }
    tool_registry registry;
};

using list = std::vector<std::string>;

TEST_F(ToolRegistry, FindsToolsByName) {
    EXPECT_TRUE(registry.contains("add"));
    EXPECT_FALSE(registry.contains("ad"));
    EXPECT_FALSE(registry.contains(""));
    const auto tools = registry.snapshot();
    EXPECT_NE(tools->find("weather"), nullptr);
    EXPECT_EQ(tools->find("Weather"), nullptr);
}

TEST_F(ToolRegistry, RefusesASecondToolOfTheSameName) {
    EXPECT_THROW(registry.add(named("add"), function()), std::invalid_argument);
    EXPECT_EQ(registry.snapshot()->definitions({}).size(), 4U);
}

TEST_F(ToolRegistry, ReplacesTheToolsOfAGroup) {
    EXPECT_EQ(
        registry.replace("b", {{named("b1"), function()}, {named("b2"), function()}}), list{}
    );
    EXPECT_EQ(registry.replace("a", {{named("a1"), function()}}), list{});
    registry.add(named("last"), function());
    const list plain{"weather", "mcp__files__read", "add", "mcp__files__write", "last"};
    const auto with = [&plain](const list& more) {
        list all = plain;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const auto before = registry.snapshot();
    EXPECT_EQ(names(before->definitions({})), with({"a1", "b1", "b2"}));

    EXPECT_EQ(
        registry.replace("b", {{named("b2"), function()}, {named("b3"), function()}}), list{}
    );
    EXPECT_EQ(names(registry.snapshot()->definitions({})), with({"a1", "b2", "b3"}));
    EXPECT_FALSE(registry.contains("b1"));
    EXPECT_TRUE(registry.contains("b2"));
    EXPECT_NE(before->find("b1"), nullptr);

    EXPECT_EQ(registry.replace("b", {}), list{});
    EXPECT_EQ(names(registry.snapshot()->definitions({})), with({"a1"}));
    EXPECT_FALSE(registry.contains("b3"));
}

TEST_F(ToolRegistry, AGroupTakesNoNameThatIsInUse) {
    EXPECT_EQ(
        registry.replace(
            "a", {{named("add"), function()}, {named("a1"), function()}, {named("a1"), function()}}
        ),
        (list{"add", "a1"})
    );
    EXPECT_EQ(registry.replace("b", {{named("a1"), function()}}), list{"a1"});

    EXPECT_EQ(registry.replace("a", {}), list{});
    EXPECT_TRUE(registry.contains("add"));
    EXPECT_FALSE(registry.contains("a1"));
    EXPECT_EQ(registry.snapshot()->definitions({}).size(), 4U);
}

TEST_F(ToolRegistry, TheSchemaIsCompiledOnceAndAProblemIsLogged) {
    memory_logger log;
    const tool_definition wrong{"wrong", "", boost::json::object{{"type", "strnig"}}};
    const tool_definition right{"right", "", boost::json::object{{"type", "object"}}};
    registry.add(wrong, function());
    registry.log_to(log);
    registry.add(right, function());
    tool_definition remote{"remote", "", boost::json::object{{"$ref", "http://127.0.0.1:1/"}}};
    EXPECT_EQ(registry.replace("a", {{remote, function()}, {right, function()}}), list{"right"});

    EXPECT_EQ(
        log.lines(), (list{
                         "warning the arguments of a tool are not checked tool=wrong "
                         "detail=\"the schema cannot be compiled\"",
                         "warning the arguments of a tool are not checked tool=remote "
                         "detail=\"a $ref leads out of the schema\""
                     })
    );
    const auto tools = registry.snapshot();
    EXPECT_EQ(tools->find_tool("wrong")->schema, nullptr);
    EXPECT_NE(tools->find_tool("right")->schema, nullptr);
    EXPECT_EQ(tools->find_tool("add")->schema, nullptr);
    registry.add(named("later"), function());
    EXPECT_EQ(registry.snapshot()->find_tool("right")->schema, tools->find_tool("right")->schema);
}

TEST_F(ToolRegistry, ASchemaThatNoArgumentsFitIsNotChecked) {
    memory_logger log;
    registry.log_to(log);
    registry.add({"list", "", boost::json::object{{"type", "array"}}}, function());

    EXPECT_EQ(
        log.lines(), list{"warning the arguments of a tool are not checked tool=list detail=\"the "
                          "schema does not describe an object\""}
    );
    EXPECT_EQ(registry.snapshot()->find_tool("list")->schema, nullptr);
}

TEST_F(ToolRegistry, TheSchemasOfAGroupAreBoundedTogether) {
    memory_logger log;
    registry.log_to(log);
    boost::json::array rules;
    rules.resize(9000, boost::json::object{{"type", "object"}});
    std::vector<server_tool> tools;
    for (int i = 0; i < 7; ++i) {
        tools.push_back({named("large" + std::to_string(i)), function()});
        tools.back().definition.parameters = boost::json::object{{"allOf", rules}};
    }
    tools.push_back({named("small"), function()});
    tools.back().definition.parameters = boost::json::object{{"type", "object"}};

    EXPECT_EQ(registry.replace("group", std::move(tools)), list{});

    const auto set = registry.snapshot();
    EXPECT_NE(set->find_tool("large4")->schema, nullptr);
    EXPECT_EQ(set->find_tool("large5")->schema_problem, "the schema is too large");
    EXPECT_NE(set->find_tool("small")->schema, nullptr);
    EXPECT_EQ(log.lines().size(), 2U);
}

// A request is made for each model call, so the parameters are folded in advance.
TEST_F(ToolRegistry, TheParametersAreFoldedOnce) {
    tool_definition union_of = named("union");
    union_of.parameters =
        boost::json::parse(R"({"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]})");
    registry.add(union_of, function());

    const tool_definition offered = registry.snapshot()->definitions({"union"}).at(0);
    EXPECT_TRUE(offered.parameters == tool_schema(union_of.parameters));
    EXPECT_TRUE(tool_schema(offered.parameters) == offered.parameters.as_object());
}

TEST_F(ToolRegistry, ASnapshotStaysAsItIs) {
    const auto before = registry.snapshot();
    registry.add(named("later"), function());

    EXPECT_FALSE(before->contains("later"));
    EXPECT_EQ(before->definitions({}).size(), 4U);
    EXPECT_TRUE(registry.contains("later"));
    EXPECT_TRUE(registry.snapshot()->contains("add"));
}

TEST_F(ToolRegistry, ACopyGrowsByItself) {
    tool_registry copy = registry;
    copy.add(named("later"), function());
    EXPECT_FALSE(registry.contains("later"));

    registry = copy;
    EXPECT_TRUE(registry.contains("later"));
}

TEST_F(ToolRegistry, ListsAllToolsInOrderWithoutPatterns) {
    EXPECT_EQ(
        names(registry.snapshot()->definitions({})),
        (list{"weather", "mcp__files__read", "add", "mcp__files__write"})
    );
}

TEST_F(ToolRegistry, ListsToolsThatMatchAnyPatternOnce) {
    EXPECT_EQ(
        names(registry.snapshot()->definitions({"mcp__files__*", "weather", "mcp__files__read"})),
        (list{"weather", "mcp__files__read", "mcp__files__write"})
    );
    EXPECT_EQ(names(registry.snapshot()->definitions({"nothing"})), list{});
}

TEST(ToolPattern, MatchesWholeNamesAndPrefixes) {
    EXPECT_TRUE(matches_tool_pattern("add", "add"));
    EXPECT_FALSE(matches_tool_pattern("add", "ad"));
    EXPECT_FALSE(matches_tool_pattern("ad", "add"));
    EXPECT_TRUE(matches_tool_pattern("add", "ad*"));
    EXPECT_TRUE(matches_tool_pattern("add", "add*"));
    EXPECT_TRUE(matches_tool_pattern("add", "*"));
    EXPECT_FALSE(matches_tool_pattern("add", "*d"));
    EXPECT_FALSE(matches_tool_pattern("add", "a*d"));
    EXPECT_FALSE(matches_tool_pattern("add", ""));
}

} // namespace
} // namespace agui::runner
