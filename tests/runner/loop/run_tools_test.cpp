#include "runner/loop/run_tools.hpp"

#include "runner/base/tool_schema.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using session::call_owner;

tool_definition named(std::string name) {
    tool_definition tool;
    tool.name = std::move(name);
    return tool;
}

agent_settings allowed(std::vector<std::string> patterns) {
    agent_settings agent;
    agent.tool_patterns = std::move(patterns);
    return agent;
}

std::vector<std::string> declared(const run_tools& tools) {
    std::vector<std::string> names;
    for (const tool_definition& each : tools.offered()) {
        names.push_back(each.name);
    }
    return names;
}

tool_function function() {
    return [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{};
    };
}

class RunTools : public ::testing::Test {
protected:
    RunTools() {
        registry.add(named("search"), function());
        registry.add(named("secret"), function());
    }
    tool_registry registry;
};

TEST_F(RunTools, AreTheAgentsAndTheCallers) {
    const run_tools tools(registry, allowed({"search"}), {named("paint"), named("search")});

    ASSERT_EQ(tools.offered().size(), 2U) << "of two of one name the server's counts";
    EXPECT_EQ(tools.offered()[0].name, "search");
    EXPECT_EQ(tools.offered()[1].name, "paint");
    EXPECT_TRUE(tools.offered()[1].parameters == tool_schema(nullptr)) << "folded once";
    EXPECT_EQ(tools.owner_of("search"), call_owner::server);
    EXPECT_EQ(tools.owner_of("paint"), call_owner::external);
    EXPECT_EQ(tools.owner_of("unknown"), call_owner::server);
    EXPECT_NE(tools.tool_of("search"), nullptr);
    EXPECT_EQ(tools.tool_of("paint"), nullptr);
    EXPECT_EQ(tools.tool_of("secret"), nullptr) << "not this agent's";
}

TEST_F(RunTools, MayBeTheCallersAlone) {
    agent_settings agent = allowed({});
    tool_registry own;
    own.add(named("own"), function());
    agent.own_tools = own.snapshot();
    agent.only_external_tools = true;
    const run_tools tools(registry, agent, {named("paint")});

    EXPECT_EQ(declared(tools), std::vector<std::string>{"paint"});
    EXPECT_EQ(tools.tool_of("search"), nullptr);
    EXPECT_EQ(tools.tool_of("own"), nullptr);
    EXPECT_TRUE(server_tool_names(registry, agent).empty());
}

TEST_F(RunTools, StayAsTheyWereWhenTheRunBegan) {
    const run_tools tools(registry, allowed({}), {});
    registry.add(named("later"), function());

    EXPECT_EQ(tools.offered().size(), 2U);
    EXPECT_EQ(tools.tool_of("later"), nullptr);
    EXPECT_NE(tools.tool_of("search"), nullptr);
}

TEST_F(RunTools, StandInTheAgentsOrder) {
    agent_settings agent = allowed({});
    agent.tool_order = {"paint", "gone", "secret"};

    EXPECT_EQ(
        declared(run_tools(registry, agent, {named("zoom"), named("paint")})),
        (std::vector<std::string>{"paint", "secret", "search", "zoom"})
    );
}

TEST_F(RunTools, AWithdrawnToolIsDeclaredAndCannotBeCalled) {
    agent_settings agent = allowed({});
    agent.withdrawn_tools = {named("paint"), named("zoom")};
    const run_tools tools(registry, agent, {named("zoom")});

    EXPECT_EQ(declared(tools), (std::vector<std::string>{"search", "secret", "zoom", "paint"}));
    EXPECT_EQ(tools.owner_of("paint"), call_owner::server) << "which tells the model so";
    EXPECT_EQ(tools.tool_of("paint"), nullptr);
    EXPECT_EQ(tools.owner_of("zoom"), call_owner::external) << "it is offered";
}

TEST_F(RunTools, MayBeKeptAsTheyWere) {
    agent_settings agent = allowed({});
    agent.tool_order = {"secret", "paint"};
    agent.keeps_tool_list = true;
    const run_tools tools(registry, agent, {named("zoom"), named("paint")});

    EXPECT_EQ(declared(tools), (std::vector<std::string>{"secret", "paint"}));
    EXPECT_EQ(tools.tool_of("search"), nullptr);
}

TEST_F(RunTools, LateOnesAreOnlyForModelsThatTakeThem) {
    agent_settings agent = allowed({});
    agent.tool_order = {"secret", "search", "paint"};
    agent.keeps_tool_list = true;
    agent.late_tools = {"paint", "gone"};
    const run_tools tools(registry, agent, {named("zoom"), named("paint")});

    EXPECT_EQ(declared(tools), (std::vector<std::string>{"secret", "search"}));
    ASSERT_EQ(tools.with_late().size(), 3U);
    EXPECT_EQ(tools.with_late().back().name, "paint");
    EXPECT_EQ(tools.owner_of("paint"), call_owner::external);

    agent.late_tools.clear();
    const run_tools all(registry, agent, {named("paint")});
    EXPECT_EQ(all.with_late().size(), all.offered().size());
}

TEST_F(RunTools, AreForeignUnlessTheProgramOrTheAgentHasThem) {
    registry.add(named("hook"), function(), {.is_foreign = true});
    agent_settings agent = allowed({"search"});
    agent.own_tools = tool_registry({{named("update_state"), function()}}).snapshot();
    const run_tools tools(registry, agent, {named("paint"), named("secret")});

    EXPECT_FALSE(tools.is_foreign("search"));
    EXPECT_FALSE(tools.is_foreign("update_state"));
    EXPECT_FALSE(tools.is_foreign("secret")) << "whatever the agent may use at the moment";
    EXPECT_TRUE(tools.is_foreign("hook"));
    EXPECT_TRUE(tools.is_foreign("paint"));
    EXPECT_TRUE(tools.is_foreign("mcp__gone__tool"));
}

} // namespace
} // namespace agui::runner
