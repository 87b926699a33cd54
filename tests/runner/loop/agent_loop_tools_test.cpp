#include "runner/base/tool_names.hpp"
#include "runner/tools/run_context.hpp"
#include "tests/runner/loop/agent_loop_fixture.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>

#include <gmock/gmock.h>

#include <stdexcept>

namespace agui::runner {
namespace {

using session::call_status;

TEST_F(AgentLoop, CommitsTheTurnBeforeAServerToolRuns) {
    model.turns = {calls({{"c1", "weather", R"({"city":"Ulm"})"}}), says("It is sunny")};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "call c1 weather server", R"(args c1 {"city":"Ulm"})", "turn ended",
                        "commit", "executing c1", "commit", R"(result c1 sunny {"city":"Ulm"})",
                        "text It is sunny", "turn ended", "finish"
                    })
    );
    EXPECT_EQ(status_of("c1"), call_status::answered);
    ASSERT_EQ(model.histories.size(), 2U);
    EXPECT_EQ(model.histories[1].size(), 3U);
}

TEST_F(AgentLoop, ExecutesServerCallsAndHandsTheOthersOver) {
    model.turns = {calls({{"c1", "change_background", "{}"}, {"c2", "weather", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
    EXPECT_EQ(status_of("c1"), call_status::pending);
    EXPECT_EQ(status_of("c2"), call_status::answered);
}

// The caller may have approved a call, so that the run begins with the call and not with the model.
TEST_F(AgentLoop, BeginsWithTheStoredCallsOfTheServer) {
    session::changes change;
    session::stored_message node;
    node.parent = 0;
    node.message.id = "a1";
    node.message.role = session::role::assistant;
    node.message.tool_calls = {
        {"c1", "weather", R"({"city":"Ulm"})", {}, {}}, {"c2", "weather", "{}", {}, {}}
    };
    change.messages.push_back(node);
    change.branches.push_back({0, {1, 0}});
    change.calls = {
        {"c1", "weather", "r1", session::call_owner::server, call_status::open, 1},
        {"c2", "weather", "r0", session::call_owner::server, call_status::dead, 1}
    };
    session::apply(*given, change);
    model.turns = {says("It is sunny")};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "executing c1", "commit", R"(result c1 sunny {"city":"Ulm"})",
                        "text It is sunny", "turn ended", "finish"
                    })
    );
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_EQ(status_of("c1"), call_status::answered);
}

TEST_F(AgentLoop, BeginsWithTheCallsThatAreLeftToTheCaller) {
    given->calls = {{"c1", "paint", "r1", session::call_owner::external, call_status::open, 0}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
}

TEST_F(AgentLoop, ARecordWhoseMessageLacksTheCallEndsTheRun) {
    given->calls = {{"c1", "weather", "r1", session::call_owner::server, call_status::open, 0}};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AServerFunctionMaySayExternal) {
    model.turns = {calls({{"c1", "screen", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(sink.end.pending_call_ids, (std::vector<std::string>{"c1"}));
    EXPECT_EQ(status_of("c1"), call_status::pending);
    EXPECT_EQ(stored().find_call("c1")->owner, session::call_owner::external);
}

TEST_F(AgentLoop, TellsTheModelThatAToolIsNotRegistered) {
    model.turns = {calls({{"c1", "imagined", "{}"}}), says("Sorry")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed There is no tool of this name."));
}

TEST_F(AgentLoop, AToolIsMeantAlsoWhereTheModelWritesMoreThanItsName) {
    request.external_tools.push_back({"calendar.create", "Adds an entry", {}});
    const std::string sent = tool_names(nullptr).sent("calendar.create");
    model.turns = {
        calls({{"c1", " weather\n", "{}"}, {"c2", "functions.weather", "{}"}}),
        calls({{"c3", sent, "{}"}, {"c4", "functions.change_background", "{}"}})
    };

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 sunny {}"));
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 sunny {}"));
    EXPECT_THAT(sink.steps, ::testing::Contains("call c1 weather server"));
    EXPECT_THAT(sink.steps, ::testing::Contains("call c3 calendar.create external"));
    EXPECT_THAT(sink.steps, ::testing::Contains("call c4 change_background external"));
    EXPECT_EQ(sink.end.reason, stop_reason::external_tool);
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls.at(1).name, "weather");
}

TEST_F(AgentLoop, ArgumentsOfAServerCallThatAreNoObjectAreAnErrorResult) {
    model.turns = {
        calls(
            {{"c1", "weather", "[1]"},
             {"c2", "weather", "{oops"},
             {"c3", "weather", R"({"a":[1e400]})"}}
        ),
        says("Sorry")
    };

    play();

    EXPECT_THAT(
        sink.steps, ::testing::Contains("result c1 failed The arguments are not a JSON object.")
    );
    EXPECT_THAT(
        sink.steps, ::testing::Contains("result c2 failed The arguments are not a JSON object.")
    );
    EXPECT_THAT(
        sink.steps, ::testing::Contains("result c3 failed The arguments are not a JSON object.")
    );
}

TEST_F(AgentLoop, AnyArgumentsHaveAnOutcome) {
    std::vector<std::string> seen;
    const auto look = [&seen](const tool_invocation& call) {
        seen.push_back(boost::json::serialize(call.arguments));
    };
    tools.add(
        {"look", "", boost::json::parse(R"({"type":"object","properties":{"n":{"type":"integer"},
            "text":{"maxLength":2000000}},"additionalProperties":false})")},
        [look](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
            look(call);
            co_return tool_outcome{tool_outcome::kind::result, std::string("ok")};
        }
    );
    const std::string no_object = " failed The arguments are not a JSON object.";
    const std::string no_fit = " failed The arguments do not fit the tool's schema. At ";
    const std::string megabyte = R"({"text":")" + std::string(1'000'000, 'x') + "\"}";
    const struct {
        std::string arguments, result;
    } cases[] = {
        {"", " ok"},
        {" \n", " ok"},
        {"{}", " ok"},
        {R"({"n":1,"n":2})", " ok"},
        {megabyte, " ok"},
        {"null", no_object},
        {"5", no_object},
        {"\"{}\"", no_object},
        {"[]", no_object},
        {"{", no_object},
        {"{}}", no_object},
        {std::string(1'000'000, '['), no_object},
        {std::string("{\"n\":1}\0", 8), no_object},
        {"{\"text\":\"\xFF\"}", no_object},
        {R"({"n":"1"})", no_fit + "/n: "},
        {R"({"n":1,"n":"2"})", no_fit + "/n: "},
        {R"({"__proto__":{"n":1}})", no_fit + "/: "},
    };
    std::vector<made_call> made;
    for (const auto& each : cases) {
        made.push_back({"c" + std::to_string(made.size()), "look", each.arguments});
    }
    model.turns = {calls(made), says("Done")};
    request.agent.limits.loop_threshold = 0;

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        const std::string result = "result " + made[i].id + cases[i].result;
        EXPECT_EQ(
            std::ranges::count_if(
                sink.steps, [&](const std::string& step) { return step.starts_with(result); }
            ),
            1
        ) << result
          << " for " << made[i].arguments.substr(0, 50);
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"{}", "{}", "{}", R"({"n":2})", megabyte}));
}

TEST_F(AgentLoop, ArgumentsThatDoNotFitASchemaAreLoggedWithoutContent) {
    tools.add(
        {"n", "", boost::json::parse(R"({"additionalProperties":false})")}, returns("never ")
    );
    model.turns = {calls({{"c1", "n", R"({"secret":1})"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains(::testing::HasSubstr("'secret'")));
    EXPECT_THAT(
        log.lines(),
        ::testing::ElementsAre("warning tool failed run=r1 tool=n call=c1 detail=\"The "
                               "arguments do not fit the tool's schema.\"")
    );
}

TEST_F(AgentLoop, EmptyArgumentsAreAnEmptyObject) {
    model.turns = {calls({{"c1", "weather", ""}}), says("Sunny")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 sunny {}"));
}

TEST_F(AgentLoop, ACallWithoutArgumentsGetsTheEmptyObject) {
    model.turns = {calls({{"c1", "change_background", ""}, {"c2", "change_background", ""}})};

    play();

    EXPECT_EQ(
        sink.steps, (std::vector<std::string>{
                        "call c1 change_background external", "call c2 change_background external",
                        "args c1 {}", "args c2 {}", "turn ended", "finish"
                    })
    );
    EXPECT_EQ(stored().nodes.at(1).message.tool_calls.at(0).arguments, "{}");
}

TEST_F(AgentLoop, AToolThatThrowsIsAnErrorResultWithoutItsText) {
    model.turns = {calls({{"c1", "broken", "{}"}}), says("Sorry")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed The tool failed."));
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, AToolThatThrowsIsNamedInTheLogWithoutItsArguments) {
    model.turns = {calls({{"c1", "broken", R"({"city":"Ulm"})"}}), says("Sorry")};

    play();

    EXPECT_THAT(
        log.lines(), ::testing::ElementsAre(
                         "error tool failed run=r1 tool=broken call=c1 detail=\"a secret detail\""
                     )
    );
}

TEST_F(AgentLoop, EachErrorOfAToolIsLoggedOnceWithoutContent) {
    tools.add(
        {"refuses", "Answers with an error", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_return tool_outcome{
                tool_outcome::kind::error, std::string("no weather in Ulm"), "status 503"
            };
        }
    );
    model.turns = {
        calls(
            {{"c1", "refuses", R"({"city":"Ulm"})"},
             {"c2", "refuses", "Ulm"},
             {"c3", "weather in Ulm", "{}"}}
        ),
        says("Sorry")
    };

    play();

    EXPECT_THAT(
        log.lines(),
        ::testing::UnorderedElementsAre(
            "warning tool failed run=r1 tool=refuses call=c1 detail=\"status 503\"",
            "warning tool failed run=r1 tool=refuses call=c2 detail=\"The arguments are not a JSON "
            "object.\"",
            "warning tool failed run=r1 tool=unknown call=c3 detail=\"There is no tool of this "
            "name.\""
        )
    );
}

TEST_F(AgentLoop, AResultThatIsNotUtf8IsMended) {
    tools.add({"bytes", "Gives bytes", {}}, returns("\xFF\xFE"));
    tools.add(
        {"parts", "Gives parts with bytes", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            const boost::json::object part{{"type", "text"}, {"text", "a\xC3"}};
            co_return tool_outcome{tool_outcome::kind::result, boost::json::array{part}};
        }
    );
    model.turns = {calls({{"c1", "bytes", "{}"}, {"c2", "parts", "{}"}}), says("Sorry")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 \uFFFD\uFFFD{}"));
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 a\uFFFD"));
}

TEST_F(AgentLoop, AResultOverTheLimitIsCutWithANote) {
    max_result_bytes = 8;
    model.turns = {calls({{"c1", "weather", "{\"city\":\"Ulm\"}"}}), says("Sorry")};

    play();

    EXPECT_THAT(
        sink.steps,
        ::testing::Contains("result c1 sunny {\"\n[The server cut this result after 8 bytes.]")
    );
}

TEST_F(AgentLoop, ResultsAreStoredAndShownInTheOrderOfTheCalls) {
    const auto gate = std::make_shared<boost::asio::steady_timer>(
        context(), boost::asio::steady_timer::time_point::max()
    );
    tools.add(
        {"first", "Waits for the gate", {}},
        [gate](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await gate->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return tool_outcome{tool_outcome::kind::result, std::string("slow")};
        }
    );
    tools.add({"second", "Ends at once", {}}, returns("fast "));
    model.turns = {calls({{"c1", "first", "{}"}, {"c2", "second", "{}"}}), says("Done")};
    const loop_services services{model, tools, ids, time, log, max_result_bytes};
    boost::asio::co_spawn(
        context(), run_agent(request, services, sink, stop), boost::asio::detached
    );

    context().poll(); // Runs until only the first call is waited for.
    EXPECT_EQ(sink.steps.back(), "executing c2") << "the second call's result is not stored yet";
    EXPECT_EQ(sink.commits.size(), 1U);
    gate->cancel();
    context().run();

    ASSERT_EQ(sink.finishes, 1);
    std::vector<std::string> shown;
    for (const std::string& step : sink.steps) {
        if (step.starts_with("result")) {
            shown.push_back(step);
        }
    }
    EXPECT_EQ(shown, (std::vector<std::string>{"result c1 slow", "result c2 fast {}"}));
    EXPECT_EQ(stored().nodes.at(2).message.tool_call_id, "c1");
    EXPECT_EQ(stored().nodes.at(3).message.tool_call_id, "c2");
}

TEST_F(AgentLoop, AToolMayShowClientsSomethingElseThanTheModel) {
    tools.add({"chart", "Draws", {}}, [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        tool_outcome outcome{tool_outcome::kind::result, std::string("rising")};
        outcome.shown = std::string("<svg/>");
        co_return outcome;
    });
    model.turns = {calls({{"c1", "chart", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 <svg/>"));
    const session::thread_record thread = stored();
    const session::message& kept = thread.nodes.at(2).message;
    EXPECT_EQ(session::text_of(kept.content), "<svg/>");
    ASSERT_NE(kept.for_model, nullptr);
    EXPECT_EQ(session::text_of(*kept.for_model), "rising");
    EXPECT_EQ(session::text_of(model.histories.at(1).back().content), "rising");
}

TEST_F(AgentLoop, AnExecutorOfTheAgentAnswersForAToolThatIsNotRegistered) {
    request.agent.executors =
        std::make_shared<tool_executors>(tool_executors{{"imagined", returns("real ")}});
    model.turns = {calls({{"c1", "imagined", "{}"}, {"c2", "other", "{}"}}), says("Done")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 real {}"));
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 failed There is no tool of this name."));
}

// Nothing of the registry is locked while a tool runs.
TEST_F(AgentLoop, AToolMayChangeTheRegistry) {
    tools.add(
        {"learn", "Adds a tool", {}},
        [this](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            tools.add({"learned", "For later runs", {}}, returns(""));
            co_return tool_outcome{tool_outcome::kind::result, std::string("learned")};
        }
    );
    model.turns = {calls({{"c1", "learn", "{}"}}), says("Done")};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::completed);
    EXPECT_TRUE(tools.contains("learned"));
    EXPECT_EQ(model.offered.at(1), model.offered.at(0)) << "a run keeps the tools it began with";
}

TEST_F(AgentLoop, OffersServerToolsFirstAndNoNameTwice) {
    request.external_tools.push_back({"weather", "The client's own", {}});
    request.agent.tool_patterns = {"weather"};
    model.turns = {says("Hi")};

    play();

    EXPECT_EQ(model.offered.at(0), (std::vector<std::string>{"weather", "change_background"}));
}

TEST_F(AgentLoop, AServerToolThatTheAgentMayNotUseIsNotExecuted) {
    request.agent.tool_patterns = {"screen"};
    model.turns = {calls({{"c1", "weather", "{}"}}), says("Sorry")};

    play();

    EXPECT_THAT(sink.steps, ::testing::Contains("result c1 failed There is no tool of this name."));
}

TEST_F(AgentLoop, AStoreThatLosesAResultGetsTheActivitiesOfItsToolWithTheEnd) {
    tools.add(
        {"look", "Looks", {}},
        [](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
            (void)call.run->show_activity({.id = "a1", .type = "look", .content = {{"n", 1}}});
            co_return tool_outcome{};
        }
    );
    sink.fail_commit = 1;
    sink.fails_with = errc::body_too_large; // So it is certain that nothing was stored.
    model.turns = {calls({{"c1", "look", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::store_unavailable);
    const std::string id = "c8e6692d-c639-8894-867c-4f3773ae168d"; // Of the name.
    EXPECT_THAT(sink.steps, ::testing::Contains("activity " + id));
    std::vector<std::string> ids_of_activities;
    for (const session::stored_message& each : stored().nodes) {
        if (each.message.role == session::role::activity) {
            ids_of_activities.push_back(each.message.id);
        }
    }
    EXPECT_THAT(ids_of_activities, ::testing::Contains(id).Times(1));
}

} // namespace
} // namespace agui::runner
