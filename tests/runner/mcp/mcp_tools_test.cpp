#include "tests/runner/mcp/mcp_tools_fixture.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace agui::runner {
namespace {

TEST_F(McpTools, RegistersTheToolsOfAServer) {
    server.tools = {"echo", "add"};
    start();
    EXPECT_EQ(names(), (list{"mcp__s__echo", "mcp__s__add"}));
    EXPECT_EQ(lines("info the tools of an MCP server are registered server=s tools=2"), 1U);
}

TEST_F(McpTools, BringTheAnswersOfAPersonToTheServer) {
    server.tools = {"echo"};
    start();
    tool_invocation answered = invocation();
    answered.inputs.emplace_back(json::object{{"unit", "C"}});
    answered.inputs.emplace_back(2);
    const auto tools = registry.snapshot();

    EXPECT_EQ(say(run((*tools->find("mcp__s__echo"))(answered))), "result: hi");

    const json::object meta = json::parse(server.heard.back()).at("params").at("_meta").as_object();
    EXPECT_EQ(meta.at("org.agui-gateway/inputs"), json::parse(R"([{"unit":"C"},2])"));
    EXPECT_TRUE(meta.contains("progressToken"));
    (void)call("mcp__s__echo");
    EXPECT_EQ(server.heard.back().find("inputs"), std::string::npos);
}

TEST_F(McpTools, SaysWhichToolsHaveChanged) {
    server.tools = {"a", "b"};
    start();
    EXPECT_EQ(lines("tools=2 digest="), 1U);
    EXPECT_EQ(lines("have changed"), 0U);

    server.description = "Now does something else.";
    server.tools = {"b", "c"};
    server.last.lock()->die();
    until([&] { return names() == list{"mcp__s__b", "mcp__s__c"}; });

    EXPECT_EQ(
        lines("warning the tools of an MCP server have changed server=s changed=b added=c removed=a"
        ),
        1U
    );

    server.tools = {"b", "c"};
    for (int i = 0; i < 12; ++i) {
        server.tools.push_back("n" + std::to_string(10 + i));
    }
    server.last.lock()->say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    until([&] { return names().size() == 14; });
    EXPECT_EQ(
        lines(
            "info the tools of an MCP server have changed server=s changed=\"\" added=\"n10, n11, "
            "n12, n13, n14, n15, n16, n17, n18, n19 and 2 more\" removed=\"\""
        ),
        1U
    );
}

TEST_F(McpTools, CallsAToolByTheNameThatItsServerKnows) {
    server.tools = {"ec\xE2\x80\xAEho"};
    start();
    EXPECT_EQ(names(), list{"mcp__s__echo"});
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
    EXPECT_EQ(json::parse(server.heard.back()).at("params").at("name"), "ec\xE2\x80\xAEho");
}

TEST_F(McpTools, CallsATool) {
    start();
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
    const json::value sent = json::parse(server.heard.back());
    EXPECT_EQ(sent.at("params").at("name"), "echo");
    EXPECT_EQ(sent.at("params").at("arguments").at("city"), "Bern");
}

TEST_F(McpTools, TwoServersMayHaveToolsOfTheSameName) {
    fake_mcp_server other;
    other.answer = [](channel& over, const json::object& message) {
        over.result(message, text_result("from the other one"));
    };
    start({settings_for("b", server), settings_for("a", other)});
    EXPECT_EQ(names(), (list{"mcp__a__echo", "mcp__b__echo"}));
    EXPECT_EQ(call("mcp__b__echo"), "result: hi");
    EXPECT_EQ(call("mcp__a__echo"), "result: from the other one");
    run(tools().stop());
}

TEST_F(McpTools, ANameThatIsInUseIsLeftOut) {
    registry.add({.name = "mcp__s__echo", .description = {}, .parameters = {}}, {});
    server.tools = {"echo", "add"};
    start();
    EXPECT_EQ(names(), (list{"mcp__s__echo", "mcp__s__add"}));
    EXPECT_EQ(lines("warning some tools of an MCP server cannot be offered server=s tools=1"), 1U);
}

TEST_F(McpTools, AServerThatCannotBeReachedIsOneWarning) {
    server.refuse_open = mcp_failure{.what = mcp_failure::kind::unavailable, .detail = "refused"};
    start();
    EXPECT_EQ(names(), list{});
    until([&] { return server.channels > 3; });
    EXPECT_EQ(
        lines("warning an MCP server is not available server=s reason=unavailable detail=refused"),
        1U
    );

    server.refuse_open.reset();
    until([&] { return !names().empty(); });
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
}

TEST_F(McpTools, AServerThatDoesNotAnswerDoesNotHoldUpTheStart) {
    server.instead = [](channel&, const json::object&) {
    };
    mcp_tools silent(context().get_executor(), {settings_for("s", server)}, registry, log);
    run(silent.start(milliseconds(10)));
    EXPECT_EQ(server.methods(), list{"initialize"});
    EXPECT_EQ(lines("not available"), 0U); // Its handshake is still running.
    run(silent.stop());
    EXPECT_EQ(server.closed, 1);
}

TEST_F(McpTools, ListsAgainWhenTheToolsChange) {
    start();
    const auto before = registry.snapshot();
    server.tools = {"add"};
    server.last.lock()->say(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    until([&] { return names() == list{"mcp__s__add"}; });
    EXPECT_NE(before->find("mcp__s__echo"), nullptr); // Runs that began before still have the tool.
}

TEST_F(McpTools, BeginsAnotherSessionWhenOneIsOver) {
    start();
    server.tools = {"later"};
    server.last.lock()->die();
    until([&] { return names() == list{"mcp__s__later"}; });
    EXPECT_EQ(call("mcp__s__later"), "result: hi");
    EXPECT_EQ(lines("warning an MCP server is not available server=s reason=lost"), 1U);
    EXPECT_EQ(server.closed, 1);
}

TEST_F(McpTools, ToolsOfAServerThatIsGoneGiveErrors) {
    mcp_server_settings settings = settings_for("s", server);
    settings.reconnect_wait = milliseconds(5);
    start({settings});
    server.refuse_open = mcp_failure{.what = mcp_failure::kind::unavailable, .detail = "refused"};
    server.last.lock()->die();
    until([&] { return server.channels > 1; });
    EXPECT_EQ(names(), list{"mcp__s__echo"});
    EXPECT_EQ(call("mcp__s__echo"), "error: The tool could not be reached.");
}

TEST_F(McpTools, ACallWaitsForTheNextSession) {
    mcp_server_settings settings = settings_for("s", server);
    settings.reconnect_max = milliseconds(3'600'000);
    start({settings});
    // There were so many attempts that the next one would be far away.
    server.refuse_open = mcp_failure{.what = mcp_failure::kind::unavailable, .detail = "refused"};
    server.last.lock()->die();
    until([&] { return server.channels > 6; });
    server.refuse_open.reset();
    EXPECT_EQ(call("mcp__s__echo"), "result: hi");
}

TEST_F(McpTools, CallsThatWaitForTheNextSessionDoNotKeepEachOtherAwake) {
    mcp_server_settings settings = settings_for("s", server);
    settings.reconnect_min = settings.reconnect_max = milliseconds(3'600'000);
    settings.reconnect_wait = milliseconds(3'600'000);
    start({settings});
    const auto tools = registry.snapshot();
    server.last.lock()->die();
    until([&] { return server.closed == 1; });
    std::vector<std::string> outcomes;
    for (int i = 0; i < 10; ++i) {
        asio::co_spawn(
            context(), (*tools->find("mcp__s__echo"))(invocation()),
            [&](std::exception_ptr, const tool_outcome& outcome) {
                outcomes.push_back(say(outcome));
            }
        );
    }
    constexpr int enough = 10'000;
    int handled = 0;
    while (handled < enough && context().poll_one() > 0) {
        ++handled;
    }
    EXPECT_LT(handled, enough);
    EXPECT_TRUE(outcomes.empty());
    run(this->tools().stop());
    until([&] { return outcomes.size() == 10; });
    EXPECT_EQ(outcomes, list(10, "error: The tool could not be reached."));
}

TEST_F(McpTools, ACallThatWasUnderWayIsNotRepeated) {
    start();
    int calls = 0;
    server.answer = [&](channel& over, const json::object& message) {
        calls += message.at("method") == "tools/call" ? 1 : 0;
        over.die();
    };
    EXPECT_EQ(
        call("mcp__s__echo"),
        "error: The connection to the tool was lost before its answer was complete."
    );
    until([&] { return server.channels > 1; });
    EXPECT_EQ(calls, 1);
}

TEST_F(McpTools, ACallThatAForgottenSessionRefusedIsSentInTheNextOne) {
    start();
    for (const bool says_so : {true, false}) {
        const int first = server.channels - 1;
        server.answer = [first, says_so](channel& over, const json::object& message) {
            if (over.number > first) {
                over.result(message, text_result("from the new session"));
                return;
            }
            over.unanswered(
                message, {.what = mcp_failure::kind::refused,
                          .detail = "it answered with a status",
                          .not_taken = true,
                          .session_over = says_so}
            );
        };
        EXPECT_EQ(call("mcp__s__echo"), "result: from the new session");
    }
}

TEST_F(McpTools, ACallThatIsRefusedForItselfIsAnError) {
    start();
    server.answer = [](channel& over, const json::object& message) {
        if (message.at("method") == "ping") {
            over.result(message, json::object{});
        } else {
            over.unanswered(
                message,
                {.what = mcp_failure::kind::refused, .detail = "status 413", .not_taken = true}
            );
        }
    };
    EXPECT_EQ(call("mcp__s__echo"), "error: The tool's server answered with an HTTP error.");
    EXPECT_EQ(server.channels, 1);
}

TEST_F(McpTools, ACallThatMayHaveBeenExecutedIsNotRepeated) {
    start();
    int calls = 0;
    server.answer = [&](channel& over, const json::object& message) {
        calls += message.at("method") == "tools/call" ? 1 : 0;
        over.unanswered(message, {.what = mcp_failure::kind::refused, .detail = "status 502"});
    };
    EXPECT_EQ(call("mcp__s__echo"), "error: The tool's server answered with an HTTP error.");
    until([&] { return server.channels > 1; }); // Even the ping got no answer.
    EXPECT_EQ(calls, 1);
}

TEST_F(McpTools, ACallThatWasNeverSentIsSentInTheNextSession) {
    start();
    server.answer = [](channel& over, const json::object& message) {
        if (over.number > 0) {
            over.result(message, text_result("from the new session"));
            return;
        }
        over.unanswered(
            message,
            {.what = mcp_failure::kind::unavailable, .detail = "refused", .not_taken = true}
        );
    };
    EXPECT_EQ(call("mcp__s__echo"), "result: from the new session");
}

TEST_F(McpTools, ACallMakesOneAttemptNotAnEndlessNumber) {
    mcp_server_settings settings = settings_for("s", server);
    settings.reconnect_max = milliseconds(3'600'000);
    settings.reconnect_wait = milliseconds(5);
    start({settings});
    server.refuse_open = mcp_failure{.what = mcp_failure::kind::unavailable, .detail = "refused"};
    server.last.lock()->die();
    until([&] { return server.channels > 9; });
    EXPECT_EQ(call("mcp__s__echo"), "error: The tool could not be reached.");
    const int before = server.channels;
    const auto end = std::chrono::steady_clock::now() + milliseconds(50);
    until([&] { return std::chrono::steady_clock::now() > end; });
    EXPECT_LE(server.channels, before + 1);
}

TEST_F(McpTools, ACallFromAnotherThreadIsStoppedAtOnce) {
    start();
    const auto tools = registry.snapshot();
    bool called = false;
    bool told = false;
    server.answer = [&](channel&, const json::object& message) {
        called = called || message.at("method") == "tools/call";
        told = told || message.at("method") == "notifications/cancelled";
    };
    asio::io_context other(1);
    asio::cancellation_signal stop;
    std::optional<std::string> outcome;
    asio::co_spawn(
        other, (*tools->find("mcp__s__echo"))(invocation()),
        asio::bind_cancellation_slot(
            stop.slot(), [&](std::exception_ptr thrown,
                             const tool_outcome& got) { outcome = thrown ? "thrown" : say(got); }
        )
    );
    auto work = asio::make_work_guard(other);
    std::thread thread([&] { other.run(); });
    until([&] { return called; });
    asio::post(other, [&] { stop.emit(asio::cancellation_type::terminal); });
    until([&] { return told; });
    work.reset();
    thread.join();
    EXPECT_EQ(outcome, "error: The call was cancelled.");
}

TEST_F(McpTools, ACallFromAnotherThreadGetsItsAnswer) {
    start();
    const auto tools = registry.snapshot();
    asio::io_context other(1);
    auto work = asio::make_work_guard(other);
    std::thread thread([&] { other.run(); });
    std::vector<std::future<tool_outcome>> outcomes;
    for (int i = 0; i < 100; ++i) {
        outcomes.push_back(
            asio::co_spawn(other, (*tools->find("mcp__s__echo"))(invocation()), asio::use_future)
        );
    }
    for (auto& each : outcomes) {
        until([&] { return each.wait_for(milliseconds(0)) == std::future_status::ready; });
        EXPECT_EQ(say(each.get()), "result: hi");
    }
    work.reset();
    thread.join();
}

TEST_F(McpTools, StopEndsTheSessionsAndTheCalls) {
    start();
    const auto tools = registry.snapshot();
    server.answer = {};
    std::optional<std::string> outcome;
    asio::co_spawn(
        context(), (*tools->find("mcp__s__echo"))(invocation()),
        [&](std::exception_ptr, const tool_outcome& got) { outcome = say(got); }
    );
    until([&] { return server.methods().back() == "tools/call"; });
    run(this->tools().stop());
    until([&] { return outcome.has_value(); });
    EXPECT_EQ(outcome, "error: The server is shutting down.");
    EXPECT_EQ(server.closed, 1);
    EXPECT_EQ(call("mcp__s__echo"), "error: The tool could not be reached.");
    run(this->tools().stop());
    EXPECT_EQ(server.channels, 1);
}

TEST_F(McpTools, AToolThatOutlivesItsServersGivesAnError) {
    std::shared_ptr<const tool_set> left;
    {
        mcp_tools gone(context().get_executor(), {settings_for("s", server)}, registry, log);
        run(gone.start(milliseconds(10'000)));
        run(gone.stop());
        left = registry.snapshot();
    }
    EXPECT_EQ(
        say(run((*left->find("mcp__s__echo"))(invocation()))), "error: The server is shutting down."
    );
}

class McpPassedHeaders : public McpTools {
protected:
    using headers = mcp_server_settings::headers;

    McpPassedHeaders() {
        mcp_server_settings settings = settings_for("s", server);
        settings.pass_headers = {"authorization", "x-tenant"};
        settings.own_channel = [this](asio::any_io_executor on, headers own) {
            owners.push_back(std::move(own));
            return server.open(std::move(on));
        };
        start({settings});
    }

    std::string call_with(headers given) {
        const auto tools = registry.snapshot();
        tool_invocation made = invocation();
        made.headers = std::move(given);
        return say(run((*tools->find("mcp__s__echo"))(std::move(made))));
    }

    std::vector<headers> owners; ///< The headers that each session of one call sends.
};

TEST_F(McpPassedHeaders, ACallWithCredentialsHasASessionOfItsOwn) {
    EXPECT_EQ(call_with({{"authorization", "hers"}, {"traceparent", "00"}}), "result: hi");
    EXPECT_EQ(call_with({{"authorization", "his"}, {"x-tenant", "t"}}), "result: hi");
    EXPECT_EQ(call_with({{"authorization", "hers"}}), "result: hi");

    const std::vector<headers> expected{
        {{"authorization", "hers"}},
        {{"authorization", "his"}, {"x-tenant", "t"}},
        {{"authorization", "hers"}},
    };
    EXPECT_EQ(owners, expected);
    EXPECT_EQ(server.channels, 4) << "with the one that has listed the tools";
    EXPECT_EQ(server.listening, 1);
    until([this] { return server.closed == 3; });
}

TEST_F(McpPassedHeaders, ACallWithoutThemUsesTheCommonSession) {
    EXPECT_EQ(call_with({{"traceparent", "00"}}), "result: hi");

    EXPECT_TRUE(owners.empty());
    EXPECT_EQ(server.channels, 1);
}

TEST_F(McpPassedHeaders, ASessionThatCannotBeginIsAnErrorResult) {
    server.refuse_open = mcp_failure{.what = mcp_failure::kind::refused, .detail = "401"};

    EXPECT_EQ(call_with({{"authorization", "wrong"}}).substr(0, 7), "error: ");
    server.refuse_open.reset();
    EXPECT_EQ(call_with({}), "result: hi") << "the common session is as it was";
    until([this] { return server.closed == 1; });
}

TEST_F(McpPassedHeaders, AStoppedCallIsToldToItsServer) {
    server.answer = [](channel&, const json::object&) {
    };
    const auto tools = registry.snapshot();
    tool_invocation made = invocation();
    made.headers = {{"authorization", "hers"}};
    asio::cancellation_signal stop;
    std::optional<std::string> outcome;
    asio::co_spawn(
        context(), (*tools->find("mcp__s__echo"))(std::move(made)),
        asio::bind_cancellation_slot(
            stop.slot(),
            [&](const std::exception_ptr&, const tool_outcome& got) { outcome = say(got); }
        )
    );
    const auto has_heard = [this](std::string_view method) {
        const list heard = server.methods();
        return std::ranges::find(heard, method) != heard.end();
    };
    until([&] { return has_heard("tools/call"); });

    stop.emit(asio::cancellation_type::terminal);
    until([&] { return has_heard("notifications/cancelled"); });

    EXPECT_EQ(outcome, "error: The call was cancelled.");
    until([this] { return server.closed == 1; });
    EXPECT_EQ(server.flushed, 1) << "the server must have been told";
}

TEST_F(McpPassedHeaders, ASessionThatThrowsIsLeft) {
    server.throw_delivery = true;

    EXPECT_EQ(call_with({{"authorization", "hers"}}).substr(0, 7), "error: ");
    until([this] { return server.closed == 1; });
}

TEST_F(McpPassedHeaders, AServerThatStopsEndsTheCallsSessions) {
    server.answer = [](channel&, const json::object&) {
    }; // The server never answers.
    const auto tools = registry.snapshot();
    tool_invocation made = invocation();
    made.headers = {{"authorization", "hers"}};
    std::optional<tool_outcome> outcome;
    asio::co_spawn(
        context(), (*tools->find("mcp__s__echo"))(std::move(made)),
        [&](const std::exception_ptr&, tool_outcome done) { outcome = std::move(done); }
    );
    until([this] {
        const list heard = server.methods();
        return std::ranges::find(heard, "tools/call") != heard.end();
    });

    run(this->tools().stop());
    until([&] { return outcome.has_value(); });

    EXPECT_EQ(outcome->what, tool_outcome::kind::error);
    EXPECT_EQ(server.closed, 2);
}

class McpCallers : public McpTools {
protected:
    using headers = mcp_server_settings::headers;

    McpCallers() {
        pinned = settings_for("s", server);
        pinned.callers.stored = stored;
        pinned.pass_headers = {"x-tenant"};
        pinned.own_channel = [this](asio::any_io_executor on, headers own) {
            owners.push_back(std::move(own));
            return server.open(std::move(on));
        };
        server.answer = [this](channel& over, const json::object& message) {
            if (message.contains("id")) {
                calls.push_back(over.number);
                over.result(message, text_result("hi"));
            }
        };
    }

    tool_invocation invocation_of(std::string_view sender, headers given = {}) const {
        tool_invocation made = invocation();
        made.sender = sender;
        made.headers = std::move(given);
        return made;
    }
    std::string call_as(std::string_view sender, headers given = {}) {
        const auto tools = registry.snapshot();
        return say(run((*tools->find("mcp__s__echo"))(invocation_of(sender, std::move(given)))));
    }

    std::shared_ptr<stored_credentials> stored = std::make_shared<stored_credentials>(
        stored_credentials::by_principal{{"ada", "hers"}, {"bob", "his"}, {"eve", "hers"}}
    );
    mcp_server_settings pinned;
    std::vector<headers> owners; ///< The headers that each session of callers sends.
    std::vector<int> calls;      ///< The number of the channel of each call.
};

TEST_F(McpCallers, ASessionServesTheCallsOfOneCaller) {
    start({pinned});
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(call_as("bob"), "result: hi");
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(call_as("eve"), "result: hi") << "another user with the same token";
    EXPECT_EQ(call_as("bob"), "result: hi");
    EXPECT_EQ(call_as("ada", {{"x-tenant", "t"}}), "result: hi") << "it sends another header";

    const std::vector<headers> expected{
        {{"Authorization", "Bearer hers"}},
        {{"Authorization", "Bearer his"}},
        {{"Authorization", "Bearer hers"}},
        {{"x-tenant", "t"}, {"Authorization", "Bearer hers"}},
    };
    EXPECT_EQ(owners, expected);
    EXPECT_EQ(calls, (std::vector<int>{1, 2, 1, 3, 2, 4}));
    EXPECT_EQ(server.listening, 1) << "only the common session";
}

TEST_F(McpCallers, WithoutCredentialsTheCommonSessionIsNotUsed) {
    start({pinned});
    for (const std::string_view other : {"carol", "", "Ada"}) {
        EXPECT_EQ(
            call_as(other), "error: The tool was not called: it needs credentials of the user, and "
                            "there are none with this request."
        );
    }
    stored->replace({{"bob", "his"}});
    EXPECT_TRUE(call_as("ada").starts_with("error: "));
    EXPECT_TRUE(owners.empty());
    EXPECT_TRUE(calls.empty());
}

TEST_F(McpCallers, AHeaderOfTheRequestPrecedesTheStoredToken) {
    pinned.callers.passed_in = "x-upstream-authorization";
    start({pinned});
    EXPECT_EQ(call_as("carol", {{"x-upstream-authorization", "Basic abc"}}), "result: hi");
    EXPECT_EQ(call_as("ada", {{"x-upstream-authorization", "fresh"}}), "result: hi");
    EXPECT_EQ(call_as("ada"), "result: hi");

    const std::vector<headers> expected{
        {{"Authorization", "Basic abc"}},
        {{"Authorization", "Bearer fresh"}},
        {{"Authorization", "Bearer hers"}},
    };
    EXPECT_EQ(owners, expected);
}

TEST_F(McpCallers, TwoCallsAtOnceHaveTwoSessions) {
    start({pinned});
    std::vector<std::pair<std::shared_ptr<channel>, json::object>> waiting;
    server.answer = [&](channel& over, const json::object& message) {
        if (message.contains("id")) {
            waiting.emplace_back(over.shared_from_this(), message);
        }
    };
    const auto tools = registry.snapshot();
    std::vector<std::string> outcomes;
    for (const std::string_view who : {"ada", "bob", "ada"}) {
        asio::co_spawn(
            context(), (*tools->find("mcp__s__echo"))(invocation_of(who)),
            [&](const std::exception_ptr&, const tool_outcome& got) {
                outcomes.push_back(say(got));
            }
        );
    }
    until([&] { return waiting.size() == 3; });
    EXPECT_EQ(owners.size(), 3U);
    for (const auto& [over, message] : waiting) {
        over->result(message, text_result("number " + std::to_string(over->number)));
    }
    until([&] { return outcomes.size() == 3; });
    EXPECT_EQ(owners.size(), 3U);
}

TEST_F(McpCallers, SessionsThatNothingUsesEnd) {
    pinned.idle_sessions_max = 2;
    start({pinned});
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(call_as("bob"), "result: hi");
    EXPECT_EQ(call_as("eve"), "result: hi");
    until([this] { return server.closed == 1; }); // The one that has been idle for longest.
    EXPECT_EQ(call_as("bob"), "result: hi");
    EXPECT_EQ(owners.size(), 3U);
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(owners.size(), 4U);
    run(tools().stop());
    EXPECT_EQ(server.closed, 5) << "the others with the common one";
}

TEST_F(McpCallers, SessionsEndSomeTimeAfterTheirLastCall) {
    pinned.session_idle = milliseconds(1);
    start({pinned});
    EXPECT_EQ(call_as("ada"), "result: hi");
    until([this] { return server.closed == 1; });
    EXPECT_EQ(call_as("ada"), "result: hi");
    EXPECT_EQ(owners.size(), 2U);
}

TEST_F(McpCallers, ACallThatAnEndedSessionRefusesIsSentInANewOne) {
    start({pinned});
    EXPECT_EQ(call_as("ada"), "result: hi");
    server.answer = [](channel& over, const json::object& message) {
        if (over.number == 1) {
            over.unanswered(
                message, {.what = mcp_failure::kind::refused,
                          .detail = "it answered with status 404",
                          .not_taken = true,
                          .session_over = true}
            );
        } else {
            over.result(message, text_result("from the new session"));
        }
    };
    EXPECT_EQ(call_as("ada"), "result: from the new session");
    EXPECT_EQ(owners.size(), 2U);
    until([this] { return server.closed == 1; });
}

TEST_F(McpCallers, ACallThatMayHaveBeenTakenIsNotSentAgain) {
    start({pinned});
    EXPECT_EQ(call_as("ada"), "result: hi");
    server.answer = [this](channel& over, const json::object& message) {
        if (message.at("method") == "tools/call") {
            calls.push_back(over.number);
        }
        over.unanswered(message, {.what = mcp_failure::kind::lost, .detail = "it broke off"});
    };
    EXPECT_TRUE(call_as("ada").starts_with("error: "));
    EXPECT_EQ(calls, (std::vector<int>{1, 1}));
    until([this] { return server.closed == 1; });
}

} // namespace
} // namespace agui::runner
