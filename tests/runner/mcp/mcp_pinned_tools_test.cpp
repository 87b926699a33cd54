#include "runner/mcp/mcp_tool_digests.hpp"

#include "tests/runner/mcp/mcp_tools_fixture.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

constexpr std::string_view refusal =
    "error: The tool is not available, because its definition has changed.";

constexpr std::string_view unconfirmed =
    "error: The tool is not available, because its definition could not be checked.";

constexpr std::string_view list_changed =
    R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";

class McpPinnedTools : public McpTools {
protected:
    /// Starts a server whose list is accepted as it is now.
    void start_pinned() {
        mcp_server_settings settings = settings_for("s", server);
        settings.digest = digest_now();
        start({settings});
    }
    /// The digest of the server's list.
    std::string digest_now() const {
        std::vector<mcp_tool> tools;
        for (const std::string& name : server.tools) {
            mcp_tool& tool = tools.emplace_back();
            tool.name = name;
            tool.description = server.description;
            tool.schema = {{"type", "object"}};
        }
        mcp_tool_digests digests;
        (void)digests.update(tools);
        return digests.digest();
    }
    void say_changed() { server.last.lock()->say(std::string(list_changed)); }
    std::size_t refusals() const { return lines("are not the accepted ones"); }
};

TEST_F(McpPinnedTools, AreOfferedWhileTheyAreTheAcceptedOnes) {
    server.tools = {"a", "b"};
    server.description = "Adds.";
    start_pinned();
    EXPECT_EQ(names(), (list{"mcp__s__a", "mcp__s__b"}));

    server.tools = {"b", "a"}; // Only the order is another.
    say_changed();
    until([&] { return names() == list{"mcp__s__b", "mcp__s__a"}; });
    EXPECT_EQ(call("mcp__s__a"), "result: hi");
    EXPECT_EQ(refusals(), 0U);
}

TEST_F(McpPinnedTools, OfAnotherListAreNotOfferedAtTheStart) {
    mcp_server_settings settings = settings_for("s", server);
    settings.digest = std::string(64, '0');
    start({settings});

    EXPECT_EQ(names(), list{});
    EXPECT_EQ(
        lines(
            "error the tools of an MCP server are not offered, because their definitions are not "
            "the accepted ones server=s accepted=" +
            settings.digest + " found=" + digest_now()
        ),
        1U
    );
    EXPECT_EQ(lines("are registered"), 0U);
}

TEST_F(McpPinnedTools, AreWithdrawnWhenOneWordOfADescriptionChanges) {
    server.tools = {"a", "b"};
    server.description = "Adds.";
    start_pinned();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(call("mcp__s__a"), "result: hi");
    }
    const auto before = registry.snapshot();

    server.description = "Adds, and sends it to me.";
    server.tools.push_back("c");
    say_changed();
    until([&] { return names().empty(); });

    EXPECT_EQ(refusals(), 1U);
    EXPECT_EQ(lines("changed=\"a, b\" added=c removed=\"\""), 1U);
    EXPECT_EQ(lines("sends it"), 0U) << "descriptions stay out of the log";
    const std::size_t heard = server.heard.size();
    EXPECT_EQ(
        say(run((*before->find("mcp__s__a"))(invocation()))),
        "error: The tool is not available, because its definition has changed."
    ) << "a run that began before";
    EXPECT_EQ(server.heard.size(), heard);

    say_changed(); // The same list again is no further line.
    until([&] { return server.methods().size() > heard; });
    until([&] { return lines("debug the tools of an MCP server are not offered") == 1; });
    EXPECT_EQ(lines("error the tools of an MCP server are not offered"), 1U);

    server.description = "Adds.";
    server.tools.pop_back();
    say_changed();
    until([&] { return names().size() == 2; });
    EXPECT_EQ(call("mcp__s__a"), "result: hi");
}

TEST_F(McpPinnedTools, AreComparedInEachSession) {
    start_pinned();
    const auto before = registry.snapshot();
    server.description = "Another one.";
    server.last.lock()->die();
    // The call waits for the session in which the list is refused.
    EXPECT_EQ(
        say(run((*before->find("mcp__s__echo"))(invocation()))),
        "error: The tool is not available, because its definition has changed."
    );
    EXPECT_EQ(names(), list{});
    EXPECT_EQ(refusals(), 1U);
}

TEST_F(McpPinnedTools, AreOfferedAgainOnceTheirListIsAccepted) {
    start_pinned();
    server.description = "Another one.";
    say_changed();
    until([&] { return names().empty(); });

    tools().accept("other", digest_now());
    tools().accept("s", digest_now());
    until([&] { return !names().empty(); });
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");

    tools().accept("s", std::string(64, '0'));
    until([&] { return names().empty(); });
    tools().accept("s", "");
    until([&] { return !names().empty(); });
}

TEST_F(McpPinnedTools, OfARunThatReadAnotherDefinitionAreNotCalled) {
    server.tools = {"same", "removed"};
    start_pinned();
    const auto before = registry.snapshot();
    server.tools = {"same", "added"};
    tools().accept("s", digest_now());
    until([&] { return lines("the tools of an MCP server are registered") == 2; });
    EXPECT_EQ(say(run((*before->find("mcp__s__same"))(invocation()))), "result: hi");
    EXPECT_EQ(say(run((*before->find("mcp__s__removed"))(invocation()))), refusal);

    server.description = "Another one.";
    tools().accept("s", digest_now());
    until([&] { return lines("the tools of an MCP server are registered") == 3; });
    EXPECT_EQ(say(run((*before->find("mcp__s__same"))(invocation()))), refusal);
    EXPECT_EQ(call("mcp__s__same"), "result: hi");

    const auto offered = registry.snapshot();
    server.description = "Any.";
    tools().accept("s", "");
    until([&] { return lines("the tools of an MCP server are registered") == 4; });
    EXPECT_EQ(say(run((*offered->find("mcp__s__same"))(invocation()))), "result: hi")
        << "any definition is accepted";
}

TEST_F(McpPinnedTools, AreWithdrawnAtOnceByAnotherDigestEvenIfTheyAreNotListedAgain) {
    start_pinned();
    const auto before = registry.snapshot();
    server.refuse_lists = true;

    tools().accept("s", std::string(64, '0'));

    until([&] { return names().empty(); });
    EXPECT_EQ(
        say(run((*before->find("mcp__s__echo"))(invocation()))),
        "error: The tool is not available, because its definition has changed."
    );
    EXPECT_EQ(refusals(), 0U) << "no list was refused";
}

TEST_F(McpPinnedTools, AreListedAgainUntilAListComes) {
    start_pinned();
    server.description = "Another one.";
    say_changed();
    until([&] { return names().empty(); });
    server.refuse_lists = true;

    tools().accept("s", digest_now());
    until([&] { return server.refused_lists > 2; });
    EXPECT_EQ(names(), list{});
    server.refuse_lists = false;

    until([&] { return !names().empty(); });
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
    EXPECT_EQ(server.channels, 1) << "in the same session";
}

TEST_F(McpPinnedTools, ACallWaitsForAListThatIsReported) {
    start_pinned();
    const auto before = registry.snapshot();
    say_changed();
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
    EXPECT_EQ(
        server.methods(),
        (list{"initialize", "notifications/initialized", "tools/list", "tools/list", "tools/call"})
    );

    server.description = "Another one.";
    say_changed();
    EXPECT_EQ(say(run((*before->find("mcp__s__echo"))(invocation()))), refusal);
    EXPECT_EQ(std::ranges::count(server.methods(), "tools/call"), 1);
}

TEST_F(McpPinnedTools, AreNotCalledWhileTheirListCannotBeRead) {
    mcp_server_settings settings = settings_for("s", server);
    settings.digest = digest_now();
    settings.reconnect_wait = milliseconds(50);
    start({settings});
    server.refuse_lists = true;
    say_changed();
    EXPECT_EQ(call("mcp__s__echo"), unconfirmed);
    EXPECT_EQ(call("mcp__s__echo"), unconfirmed);
    EXPECT_EQ(std::ranges::count(server.methods(), "tools/call"), 0);

    server.refuse_lists = false;
    until([&] { return lines("the tools of an MCP server are registered") == 2; });
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
    EXPECT_EQ(server.channels, 1) << "in the same session";
}

TEST_F(McpPinnedTools, AListThatIsOldIsReadAgainBeforeACall) {
    mcp_server_settings settings = settings_for("s", server);
    settings.digest = digest_now();
    settings.session_idle = milliseconds(200);
    start({settings});
    const auto before = registry.snapshot();
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");

    server.description = "Another one."; // The server tells nobody.
    const auto old = std::chrono::steady_clock::now() + milliseconds(200);
    until([&] { return std::chrono::steady_clock::now() > old; });
    EXPECT_EQ(say(run((*before->find("mcp__s__echo"))(invocation()))), refusal);
    EXPECT_EQ(names(), list{});
    EXPECT_EQ(server.channels, 1);
}

TEST_F(McpPinnedTools, AListThatBreaksOffIsReadAgain) {
    server.tools = {"a", "b"};
    int lists = 0;
    server.instead = [&](channel& over, const json::object& message) {
        if (message.at("method") == "initialize") {
            over.result(
                message,
                {{"protocolVersion", "2025-06-18"}, {"capabilities", {{"tools", json::object()}}}}
            );
            return;
        }
        if (message.at("method") != "tools/list") {
            over.result(message, json::object()); // A ping.
            return;
        }
        const bool first =
            !message.contains("params") || !message.at("params").as_object().contains("cursor");
        lists += first ? 1 : 0;
        const json::object schema{{"type", "object"}};
        const json::object tool{
            {"name", first ? "a" : "b"}, {"description", ""}, {"inputSchema", schema}
        };
        if (!first && lists == 1) {
            over.unanswered(message, {.what = mcp_failure::kind::refused, .detail = "status 500"});
        } else if (first) {
            over.result(message, {{"tools", json::array{tool}}, {"nextCursor", "2"}});
        } else {
            over.result(message, {{"tools", json::array{tool}}});
        }
    };
    start_pinned();
    until([&] { return names() == list{"mcp__s__a", "mcp__s__b"}; });
    EXPECT_EQ(lists, 2);
    EXPECT_EQ(refusals(), 0U);
}

/// Each call has a session with its caller's credentials.
class McpPinnedCallers : public McpPinnedTools {
protected:
    using headers = mcp_server_settings::headers;

    void start_for_callers(milliseconds session_idle = milliseconds(300'000)) {
        mcp_server_settings settings = settings_for("s", server);
        settings.session_idle = session_idle;
        settings.digest = digest_now();
        settings.callers.stored = std::make_shared<stored_credentials>(
            stored_credentials::by_principal{{"ada", "hers"}, {"bob", "his"}}
        );
        settings.pass_headers = {"x-tenant"};
        settings.own_channel = [this](asio::any_io_executor on, const headers&) {
            return server.open(std::move(on));
        };
        start({settings});
        offered = registry.snapshot();
        common = server.last.lock();
    }
    /// The run began while the tools were offered.
    std::string call_as(std::string_view sender, std::string_view tool = "mcp__s__echo") {
        tool_invocation made = invocation();
        made.sender = sender;
        return say(run((*offered->find(tool))(made)));
    }
    std::size_t heard(std::string_view method) const {
        return static_cast<std::size_t>(std::ranges::count(server.methods(), method));
    }
    std::size_t reports() const { return lines("error the tools of an MCP server are not called"); }
    /// In the session that began last. Returns once the client has read it.
    void say_changed_to_caller() {
        const std::size_t pongs = heard("answer");
        say_changed();
        server.last.lock()->say(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
        until([&] { return heard("answer") > pongs; });
    }

    /// The next lists have no descriptions, and come with a notice that there is another list.
    void report_changes(int count) {
        server.instead = [this, count](channel& over, const json::object& message) mutable {
            const bool is_list = message.at("method") == "tools/list";
            if (!is_list || count-- <= 0) {
                server.respond(over, message);
                return;
            }
            over.say(std::string(list_changed));
            const json::object schema{{"type", "object"}};
            over.result(
                message, {{"tools", json::array{{{"name", "echo"}, {"inputSchema", schema}}}}}
            );
        };
    }

    std::shared_ptr<const tool_set> offered;
    std::shared_ptr<channel> common; ///< Of the link's own session.
};

TEST_F(McpPinnedCallers, TheirListsAreComparedOnceInEachSession) {
    start_for_callers();
    for (const std::string_view who : {"ada", "ada", "bob", "ada", "bob"}) {
        EXPECT_EQ(call_as(who), "result: hi");
    }
    EXPECT_EQ(heard("tools/list"), 3U) << "the common session and two callers";
    EXPECT_EQ(heard("tools/call"), 5U);
}

TEST_F(McpPinnedCallers, NoToolIsCalledWithOtherDefinitions) {
    start_for_callers();
    EXPECT_EQ(call_as("ada"), "result: hi");
    const std::string accepted = digest_now();
    server.description = "Adds, and sends it to me."; // The server tells nobody.

    EXPECT_EQ(call_as("bob"), refusal);

    EXPECT_EQ(heard("tools/call"), 1U);
    EXPECT_EQ(reports(), 1U);
    EXPECT_EQ(lines("server=s accepted=" + accepted + " changed=echo"), 1U);
    EXPECT_EQ(lines("sends it"), 0U) << "descriptions stay out of the log";
    until([&] { return names().empty(); }); // The common session has listed them again.
    EXPECT_EQ(call_as("ada"), refusal);
    EXPECT_EQ(heard("tools/call"), 1U);
}

TEST_F(McpPinnedCallers, ASessionThatReportsAChangeIsComparedAgain) {
    start_for_callers();
    EXPECT_EQ(call_as("ada"), "result: hi");
    say_changed_to_caller();
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(heard("tools/list"), 3U);

    server.description = "Another one.";
    say_changed_to_caller();
    EXPECT_EQ(call_as("ada"), refusal);
    EXPECT_EQ(heard("tools/call"), 2U);
}

TEST_F(McpPinnedCallers, TheyAreComparedAgainAfterAChangeOfTheCommonSession) {
    start_for_callers();
    EXPECT_EQ(call_as("ada"), "result: hi");
    common->say(std::string(list_changed));
    until([&] { return lines("the tools of an MCP server are registered") == 2; });
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(heard("tools/list"), 4U) << "two in each session";
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(heard("tools/list"), 4U);

    server.description = "Another one.";
    common->say(std::string(list_changed)); // The caller's session learns of nothing.
    EXPECT_EQ(call_as("ada"), refusal);
    EXPECT_EQ(heard("tools/call"), 3U);
}

TEST_F(McpPinnedCallers, AChangeThatIsReportedDuringAComparisonIsCompared) {
    start_for_callers();
    server.description = "Another one.";
    report_changes(1);
    EXPECT_EQ(call_as("ada"), refusal);
    EXPECT_EQ(heard("tools/call"), 0U);
}

TEST_F(McpPinnedCallers, AServerThatKeepsReportingChangesIsNotComparedForEver) {
    start_for_callers();
    report_changes(100);
    EXPECT_EQ(call_as("ada"), unconfirmed);
    EXPECT_EQ(heard("tools/list"), 4U) << "one in the common session";
    EXPECT_EQ(heard("tools/call"), 0U);
}

TEST_F(McpPinnedCallers, ASessionThatIsUsedForLongIsComparedAgain) {
    start_for_callers(milliseconds(200));
    EXPECT_EQ(call_as("ada"), "result: hi");
    server.description = "Another one."; // The server tells nobody.
    std::string said = "result: hi";
    const auto late = std::chrono::steady_clock::now() + milliseconds(5'000);
    while (said == "result: hi" && std::chrono::steady_clock::now() < late) {
        said = call_as("ada");
    }
    EXPECT_EQ(said, refusal);
}

TEST_F(McpPinnedCallers, ASessionIsComparedAgainForAnotherDigest) {
    start_for_callers();
    EXPECT_EQ(call_as("ada"), "result: hi");
    server.description = "Another one.";
    tools().accept("s", digest_now());
    until([&] { return lines("the tools of an MCP server are registered") == 2; });
    offered = registry.snapshot();

    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(heard("tools/list"), 4U) << "two in each session";
    EXPECT_EQ(server.channels, 2);
    tools().accept("s", "");
    until([&] { return lines("the tools of an MCP server are registered") == 3; });
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(heard("tools/list"), 5U) << "any list is accepted";
}

TEST_F(McpPinnedCallers, OfARunThatReadAnotherDefinitionAreNotCalled) {
    start_for_callers();
    EXPECT_EQ(call_as("ada"), "result: hi");
    server.description = "Another one.";
    tools().accept("s", digest_now());
    until([&] { return lines("the tools of an MCP server are registered") == 2; });

    EXPECT_EQ(call_as("ada"), refusal);
    EXPECT_EQ(call_as("bob"), refusal);
    offered = registry.snapshot();
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(heard("tools/call"), 2U);
    EXPECT_EQ(reports(), 0U) << "the session has the accepted ones";
}

TEST_F(McpPinnedCallers, ACallerMayHaveOtherToolsButNotOtherDefinitions) {
    server.tools = {"echo", "delete"};
    start_for_callers();
    server.tools = {"more", "echo"};

    EXPECT_EQ(call_as("ada"), "result: hi");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(
            call_as("ada", "mcp__s__delete"),
            "error: The tool's server does not offer the tool to this user."
        );
    }
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(server.channels, 2) << "in the same session";
    EXPECT_EQ(heard("tools/list"), 2U) << "one in each session";
    EXPECT_EQ(heard("tools/call"), 2U);
    EXPECT_EQ(reports(), 0U);
}

TEST_F(McpPinnedCallers, EachChangeIsReportedOnceUntilTheCommonListIsAnotherOne) {
    server.tools = {"a", "b"};
    start_for_callers();
    std::string changed; // The tool that callers see with another description.
    server.instead = [&](channel& over, const json::object& message) {
        if (message.at("method") != "tools/list" || over.number == 0) {
            server.respond(over, message);
            return;
        }
        json::array tools;
        for (const std::string& name : server.tools) {
            const std::string description = name == changed ? "Another one." : "";
            tools.push_back(
                {{"name", name}, {"description", description}, {"inputSchema", {{"type", "object"}}}
                }
            );
        }
        over.result(message, {{"tools", tools}});
    };
    const auto call_both = [&] {
        for (const char* const each : {"a", "b", "a", "b"}) {
            const std::size_t registered = lines("the tools of an MCP server are registered");
            changed = each;
            EXPECT_EQ(call_as("ada", "mcp__s__a"), refusal);
            until([&] { return lines("the tools of an MCP server are registered") > registered; });
        }
    };
    call_both();
    EXPECT_EQ(reports(), 2U) << "not one for each call";

    common->say(std::string(list_changed));
    until([&] { return lines("the tools of an MCP server are registered") == 6; });
    call_both();
    EXPECT_EQ(reports(), 4U) << "a change that came back";

    tools().accept("s", "");
    tools().accept("s", digest_now());
    until([&] { return lines("the tools of an MCP server are registered") == 11; });
    call_both();
    EXPECT_EQ(reports(), 6U);
}

TEST_F(McpPinnedCallers, ReportsOfChangesHaveALimit) {
    server.tools.clear();
    for (int i = 0; i < 40; ++i) {
        server.tools.push_back("t" + std::to_string(i));
    }
    start_for_callers();
    std::size_t lists = 0;
    server.instead = [&](channel& over, const json::object& message) {
        if (message.at("method") != "tools/list" || over.number == 0) {
            server.respond(over, message);
            return;
        }
        const std::string name = server.tools[lists++ % server.tools.size()];
        over.result(message, {{"tools", json::array{{{"name", name}, {"description", "x"}}}}});
    };
    for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(call_as("ada", "mcp__s__t0"), refusal);
    }
    EXPECT_EQ(reports(), 32U);
}

TEST_F(McpPinnedCallers, WithoutAWholeListNothingIsCalled) {
    start_for_callers();
    server.refuse_lists = true;
    EXPECT_EQ(call_as("ada"), "error: The tool's server answered with an HTTP error.");

    server.refuse_lists = false;
    server.instead = [](channel& over, const json::object& message) {
        if (message.at("method") == "initialize") {
            over.result(
                message,
                {{"protocolVersion", "2025-06-18"}, {"capabilities", {{"tools", json::object()}}}}
            );
        } else if (message.at("params").as_object().contains("cursor")) {
            over.unanswered(message, {.what = mcp_failure::kind::refused, .detail = "status 500"});
        } else {
            over.result(message, {{"tools", json::array{{{"name", "echo"}}}}, {"nextCursor", "2"}});
        }
    };
    EXPECT_TRUE(call_as("ada").starts_with("error: "));
    EXPECT_EQ(heard("tools/call"), 0U);
}

TEST_F(McpPinnedCallers, PassedHeadersAreOfACallerToo) {
    start_for_callers();
    server.description = "Another one.";
    tool_invocation made = invocation();
    made.sender = "ada";
    made.headers = {{"x-tenant", "t"}};
    EXPECT_EQ(say(run((*offered->find("mcp__s__echo"))(made))), refusal);
    EXPECT_EQ(heard("tools/call"), 0U);
}

} // namespace
} // namespace agui::runner
