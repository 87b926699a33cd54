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
    const run_tools tools(registry, {"search"}, {named("paint"), named("search")});

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

TEST_F(RunTools, StayAsTheyWereWhenTheRunBegan) {
    const run_tools tools(registry, {}, {});
    registry.add(named("later"), function());

    EXPECT_EQ(tools.offered().size(), 2U);
    EXPECT_EQ(tools.tool_of("later"), nullptr);
    EXPECT_NE(tools.tool_of("search"), nullptr);
}

} // namespace
} // namespace agui::runner
