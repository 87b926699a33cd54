// GET /agui/capabilities tells what the clients of an agent may rely on.

#include "runner/tools/typed_tool.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

class Capabilities : public server_test {
protected:
    void add_agent(std::string_view id) {
        gateway::agent_config agent = settings.agents.front();
        agent.id = id;
        settings.agents.push_back(agent);
    }
};

TEST_F(Capabilities, AreThoseOfTheAgentThatIsNamedOrElseOfTheDefaultOne) {
    add_agent("other");
    settings.agents.back().max_rounds = 3;
    start();
    const boost::json::value usual = json_of("/agui/capabilities");
    EXPECT_EQ(usual.at("identity").at("name").as_string(), settings.agents.front().id);
    EXPECT_EQ(json_of("/agui/agents/" + settings.agents.front().id + "/capabilities"), usual);

    const boost::json::value other = json_of("/agui/agents/other/capabilities");
    EXPECT_EQ(other.at("identity").at("name").as_string(), "other");
    EXPECT_EQ(other.at("execution").at("maxIterations").to_number<int>(), 3);

    const raw_reply unknown = ask(get("/agui/agents/nobody/capabilities"));
    EXPECT_EQ(unknown.status, 404);
    EXPECT_EQ(error_code(unknown), "not_found");
    EXPECT_EQ(ask(post("/agui/capabilities", "{}")).status, 405);
}

TEST_F(Capabilities, TheFirstAgentAnswersWhereNoneIsCalledDefault) {
    settings.agents.front().id = "first";
    add_agent("second");
    start();
    EXPECT_EQ(json_of("/agui/capabilities").at("identity").at("name").as_string(), "first");
}

TEST_F(Capabilities, FollowTheConfiguration) {
    settings.server.run_timeout = std::chrono::seconds(90);
    start();
    const boost::json::value plain = json_of("/agui/capabilities");
    EXPECT_FALSE(plain.at("output").at("structuredOutput").as_bool());
    EXPECT_FALSE(plain.at("state").at("persistentState").as_bool()) << "the store is in memory";
    EXPECT_FALSE(plain.at("humanInTheLoop").at("approvals").as_bool());
    EXPECT_EQ(plain.at("execution").at("maxExecutionTime").to_number<int>(), 90'000);
}

TEST_F(Capabilities, SayThatAPersonIsAsked) {
    settings.agents.front().approval = runner::approval_rule::destructive;
    start();
    const boost::json::value found = json_of("/agui/capabilities");
    for (const std::string_view what : {"approvals", "interrupts", "approveWithEdits"}) {
        EXPECT_TRUE(found.at("humanInTheLoop").at(what).as_bool()) << what;
    }
}

TEST_F(Capabilities, SayThatAWebhookMayAskForInput) {
    auto& hook = settings.tools.webhooks.emplace_back();
    hook.definition.name = "look_up";
    hook.url = "http://127.0.0.1:1/look";
    start();
    const boost::json::value found = json_of("/agui/capabilities");
    EXPECT_TRUE(found.at("humanInTheLoop").at("interrupts").as_bool());
    EXPECT_FALSE(found.at("humanInTheLoop").at("approvals").as_bool());
}

// The tools of C++ programs, of which the configuration knows nothing.
class CapabilitiesOfTools : public Capabilities {
protected:
    void add_agent(
        std::string_view id, std::vector<std::string> tools, std::vector<std::string> called = {}
    ) {
        Capabilities::add_agent(id);
        settings.agents.back().tools = std::move(tools);
        settings.agents.back().agents = std::move(called);
    }
    void add_tool(const std::string& name, runner::tool_options rules) {
        options.tools.add(runner::tool(name, "", [] {}, std::move(rules)));
    }
    // The answers of humanInTheLoop: approvals, approveWithEdits, interrupts.
    std::vector<bool> asked_by(std::string_view agent) const {
        const boost::json::value found =
            json_of("/agui/agents/" + std::string(agent) + "/capabilities").at("humanInTheLoop");
        return {
            found.at("approvals").as_bool(), found.at("approveWithEdits").as_bool(),
            found.at("interrupts").as_bool()
        };
    }
    static void book(const runner::tool_inputs& /*answers*/, const std::string& /*city*/) {}

    const std::vector<bool> nothing{false, false, false};
    const std::vector<bool> approval{true, true, true};
    const std::vector<bool> input{false, false, true};
};

TEST_F(CapabilitiesOfTools, AreThoseOfTheToolsThatTheAgentMayCall) {
    add_tool("plain", {});
    add_tool("harmless", {.approval = runner::approval_rule::destructive, .destructive = false});
    add_tool("order", {.approval = runner::approval_rule::always});
    add_tool("erase", {.approval = runner::approval_rule::destructive});
    add_tool("pay", {.needs_approval = [](const runner::tool_invocation&) {
                 return false;
             }});
    options.tools.add(runner::tool("book", "", {"city"}, book));
    for (const char* const id : {"plain", "harmless", "order", "erase", "pay", "book"}) {
        add_agent(id, {id});
    }
    add_agent("none", {"other*"});
    add_agent("all", {});
    start();

    EXPECT_EQ(asked_by("plain"), nothing);
    EXPECT_EQ(asked_by("harmless"), nothing);
    EXPECT_EQ(asked_by("order"), approval);
    EXPECT_EQ(asked_by("erase"), approval);
    EXPECT_EQ(asked_by("pay"), approval);
    EXPECT_EQ(asked_by("book"), input);
    EXPECT_EQ(asked_by("none"), nothing);
    EXPECT_EQ(asked_by("all"), approval);
}

TEST_F(CapabilitiesOfTools, CountThoseOfCalledAgents) {
    add_tool("order", {.approval = runner::approval_rule::always});
    options.tools.add(runner::tool("book", "", {"city"}, book));
    add_agent("caller", {"other"}, {"buyer"});
    add_agent("buyer", {"order"});
    add_agent("guest", {"other"}, {"booker"});
    add_agent("booker", {"book"});
    start();

    EXPECT_EQ(asked_by("caller"), approval);
    EXPECT_EQ(asked_by("guest"), input);
}

TEST_F(Capabilities, NameTheAgentsThatAreCalled) {
    add_agent("writer");
    add_agent("reader");
    settings.agents.front().agents = {"writer"};
    settings.agents[1].agents = {"reader"};
    settings.agents[1].description = "Writes.";
    settings.agents[2].approval = runner::approval_rule::always;
    start();
    const boost::json::value found = json_of("/agui/capabilities");
    const boost::json::value expected{
        {"supported", true},
        {"delegation", true},
        {"handoffs", false},
        {"subagents", boost::json::array{{{"name", "writer"}, {"description", "Writes."}}}}
    };
    EXPECT_EQ(found.at("multiAgent"), expected);
    EXPECT_TRUE(found.at("humanInTheLoop").at("approvals").as_bool());
    const boost::json::value none = json_of("/agui/agents/reader/capabilities");
    EXPECT_EQ(none.at("multiAgent"), (boost::json::value{{"supported", false}}));
}

TEST_F(Capabilities, SayThatAStoreKeepsStateAndThatAReplyMayHaveAForm) {
    use_sqlite();
    settings.agents.front().overridable = {"response_format"};
    start();
    const boost::json::value found = json_of("/agui/capabilities");
    EXPECT_TRUE(found.at("output").at("structuredOutput").as_bool());
    EXPECT_TRUE(found.at("state").at("persistentState").as_bool());
}

} // namespace
} // namespace agui::test
