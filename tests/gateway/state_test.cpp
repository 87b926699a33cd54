// The state document of a thread, as clients, tools and plugins change it.

#include "runner/tools/run_context.hpp"
#include "session/base/json_patch.hpp"
#include "tests/gateway/two_gateways_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using tool_coroutine =
    std::function<boost::asio::awaitable<runner::tool_outcome>(runner::tool_invocation)>;

// The state events of a stream, without their times.
std::vector<std::string> states_in(std::string_view stream) {
    std::vector<std::string> states;
    for (const std::string& each : events_in(stream)) {
        json::object event = json::parse(each).as_object();
        if (event.at("type").as_string().starts_with("STATE_")) {
            event.stable_erase("timestamp");
            event.stable_erase("type");
            states.push_back(json::serialize(event));
        }
    }
    return states;
}

std::string patch_request(std::string_view body, std::string_view type) {
    std::string request = post("/agui/threads/t/state", body);
    request.replace(0, 4, "PATCH");
    constexpr std::string_view json_type = "application/json";
    request.replace(request.find(json_type), json_type.size(), type);
    return request;
}

std::string json_patch(std::string_view body) {
    return patch_request(body, "application/json-patch+json");
}

class State : public server_test {
protected:
    State() {
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const std::string body = request.body;
                const bool has_result = body.find(R"("role":"tool")") != std::string::npos;
                return std::optional(has_result ? say("Done") : answer);
            };
        };
    }

    // The model calls this tool in its first answer.
    void add_tool(tool_coroutine function) {
        answer = call_tool("change");
        options.tools.add({"change", "", nullptr}, std::move(function));
    }

    raw_reply run(std::string_view run_id, std::string_view members = {}) {
        return ask(post(
            "/agui", R"({"threadId":"t","protocolVersion":"1.1","runId":")" + std::string(run_id) +
                         R"(","messages":[{"id":"u-)" + std::string(run_id) +
                         R"(","role":"user","content":"hello"}])" + std::string(members) + "}"
        ));
    }

    std::string state() { return ask(get("/agui/threads/t/state")).body; }
};

TEST_F(State, IsShownAtTheStartOfARunWhereThereIsOne) {
    start();

    EXPECT_THAT(states_in(run("r1").body), IsEmpty());
    EXPECT_THAT(
        states_in(run("r2", R"(,"state":{"a":1})").body), ElementsAre(R"({"snapshot":{"a":1}})")
    );
    EXPECT_THAT(
        states_in(run("r3", R"(,"state":{})").body), ElementsAre(R"({"snapshot":{"a":1}})")
    );
}

TEST_F(State, ARequestThatAnswersACallMayBringIt) {
    answer = call_tool("paint");
    start();
    run("r1", R"(,"state":{"a":1},"tools":[{"name":"paint","description":""}])");

    const raw_reply answered = ask(post(
        "/agui", R"({"threadId":"t","runId":"r2","state":{"a":2},)"
                 R"("messages":[{"role":"tool","toolCallId":"c1","content":"done"}]})"
    ));

    EXPECT_THAT(states_in(answered.body), ElementsAre(R"({"snapshot":{"a":2}})"));
    EXPECT_EQ(state(), R"({"state":{"a":2}})");
}

TEST_F(State, AToolChangesItByPatchesAndClientsGetDeltas) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        const auto before = co_await call.run->state();
        const json::value patch{{{"op", "add"}, {"path", "/b"}, {"value", {1, 2}}}};
        const auto done = co_await call.run->patch_state(patch);
        const auto again = co_await call.run->replace_state({{"a", 2}, {"b", {1, 2, 3}}});
        const bool worked = before && before->view() == R"({"a":1})" && done && again;
        co_return runner::tool_outcome{.content = std::string(worked ? "yes" : "no")};
    });
    start();

    const std::string body = run("r1", R"(,"state":{"a":1})").body;

    EXPECT_THAT(body, HasSubstr(R"("content":"yes")"));
    EXPECT_THAT(
        states_in(body),
        ElementsAre(
            R"({"snapshot":{"a":1}})", R"({"delta":[{"op":"add","path":"/b","value":[1,2]}]})",
            R"({"delta":[{"op":"replace","path":"/a","value":2},{"op":"add","path":"/b/2","value":3}]})"
        )
    );
    EXPECT_EQ(state(), R"({"state":{"a":2,"b":[1,2,3]}})");
    EXPECT_THAT(ask(get("/agui/threads/t/events")).body, HasSubstr("state.changed"));
}

TEST_F(State, TheFirstOneIsShownAsAWhole) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        const json::value patch{{{"op", "add"}, {"path", "/a"}, {"value", 1}}};
        (void)co_await call.run->patch_state(patch);
        const json::value same{{{"op", "test"}, {"path", "/a"}, {"value", 1}}};
        (void)co_await call.run->patch_state(same);
        co_return runner::tool_outcome{};
    });
    start();

    EXPECT_THAT(states_in(run("r1").body), ElementsAre(R"({"snapshot":{"a":1}})"));
}

TEST_F(State, AClientsCopyOfAChangedDocumentChangesNothing) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        (void)co_await call.run->replace_state({{"z", 1.0}, {"a", "é"}});
        co_return runner::tool_outcome{};
    });
    start();
    run("r1");

    EXPECT_EQ(state(), R"({"state":{"z":1,"a":"é"}})");
    answer = say("Hi");
    run("r2", R"(,"state":{"a":"é","z":1.0})");
    const std::string events = ask(get("/agui/threads/t/events")).body;
    EXPECT_EQ(events.find("state.changed"), events.rfind("state.changed"));
}

TEST_F(State, ARefusedChangeNamesThePlaceAndChangesNothing) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        const json::value patch{
            {{"op", "replace"}, {"path", "/a"}, {"value", 2}}, {{"op", "remove"}, {"path", "/x"}}
        };
        const auto done = co_await call.run->patch_state(patch);
        co_return runner::tool_outcome{.content = done ? std::string() : done.error().path};
    });
    start();

    const std::string body = run("r1", R"(,"state":{"a":1})").body;

    EXPECT_THAT(body, HasSubstr(R"("content":"[1].path")"));
    EXPECT_THAT(states_in(body), ElementsAre(R"({"snapshot":{"a":1}})"));
    EXPECT_EQ(state(), R"({"state":{"a":1}})");
}

TEST_F(State, ChangesSideBySideAreAllKept) {
    answer = call_tool("change");
    std::string frames;
    for (int i = 0; i < 3; ++i) {
        std::string frame = call_frame("c" + std::to_string(i), "change");
        frames += frame.replace(frame.find(R"("index":0)"), 9, R"("index":)" + std::to_string(i));
    }
    answer.body = frames + end_frames("tool_calls");
    options.tools.add(
        {"change", "", nullptr},
        [](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
            for (int i = 0; i < 5; ++i) {
                const json::value patch{{{"op", "add"}, {"path", "/-"}, {"value", call.call_id}}};
                (void)co_await call.run->patch_state(patch);
            }
            co_return runner::tool_outcome{};
        }
    );
    start();

    const std::string body = run("r1", R"(,"state":[])").body;

    json::value seen;
    for (const std::string& each : events_in(body)) {
        const json::value event = json::parse(each);
        if (event.at("type") == "STATE_SNAPSHOT") {
            seen = event.at("snapshot");
        } else if (event.at("type") == "STATE_DELTA") {
            ASSERT_TRUE(apply_patch(seen, event.at("delta")));
        }
    }
    EXPECT_EQ(seen.as_array().size(), 15U);
    EXPECT_EQ(state(), R"({"state":)" + json::serialize(seen) + "}");
}

TEST_F(State, AToolThatOutlivesItsRunChangesNothing) {
    const auto outcome = std::make_shared<std::promise<std::string>>();
    add_tool(
        [outcome](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
            co_await boost::asio::this_coro::throw_if_cancelled(false);
            co_await boost::asio::this_coro::reset_cancellation_state(
                boost::asio::disable_cancellation()
            );
            boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
            timer.expires_after(std::chrono::milliseconds(300));
            co_await timer.async_wait(boost::asio::use_awaitable);
            const auto done = co_await call.run->replace_state({{"late", true}});
            outcome->set_value(done ? "" : done.error().detail);
            co_return runner::tool_outcome{};
        }
    );
    start();
    raw_client client(port());
    client.send(post("/agui", run_body("t", "r1")));
    (void)client.read_until("agui-gateway.tool.started");

    ask(post("/agui/cancel", R"({"threadId":"t"})"));

    EXPECT_EQ(outcome->get_future().get(), "the run has ended");
    EXPECT_EQ(state(), R"({"state":null})");
}

TEST_F(State, APluginChangesIt) {
    class changing final : public runner::plugin {
        boost::asio::awaitable<runner::turn_clean_up> on_turn_start(runner::plugin_turn& turn
        ) override {
            (void)co_await turn.run->replace_state({{"by", "plugin"}});
            co_return runner::turn_clean_up();
        }
    };
    options.plugins.push_back(std::make_shared<changing>());
    start();

    EXPECT_THAT(states_in(run("r1").body), ElementsAre(R"({"snapshot":{"by":"plugin"}})"));
}

TEST_F(State, APatchBodyIsAppliedToWhatIsStored) {
    start();
    run("r1", R"(,"state":{"a":1})");

    const raw_reply done = ask(json_patch(R"([{"op":"add","path":"/b","value":2}])"));
    EXPECT_EQ(done.status, 200);
    EXPECT_EQ(done.body, R"({"state":{"a":1,"b":2}})");

    const raw_reply misses = ask(json_patch(R"([{"op":"remove","path":"/x"}])"));
    EXPECT_EQ(misses.status, 409);
    EXPECT_THAT(misses.body, AllOf(HasSubstr("patch_conflict"), HasSubstr("[0].path")));
    EXPECT_EQ(ask(json_patch(R"([{"op":"set","path":"/x"}])")).status, 422);
    EXPECT_EQ(ask(json_patch(R"({"a":2})")).status, 422);
    EXPECT_EQ(ask(patch_request("{}", "text/plain")).status, 415);
    EXPECT_EQ(state(), R"({"state":{"a":1,"b":2}})");
}

// The model calls update_state with these arguments, once.
class StateTool : public State {
protected:
    StateTool() {
        settings.agents.at(0).state_tool = true;
        settings.agents.at(0).state_schema = R"({"type":"object","required":["size"],)"
                                             R"("properties":{"size":{"type":"integer"}}})";
    }

    raw_reply change(std::string_view operations) {
        answer = call_tool("update_state", R"({"patch":)" + std::string(operations) + "}");
        start();
        return run("r1", R"(,"state":{"size":1})");
    }
};

TEST_F(StateTool, LetsTheModelChangeTheDocument) {
    const std::string body = change(R"([{"op":"replace","path":"/size","value":2}])").body;

    EXPECT_THAT(body, HasSubstr(R"("content":"The state was changed.")"));
    EXPECT_THAT(
        states_in(body),
        ElementsAre(
            R"({"snapshot":{"size":1}})", R"({"delta":[{"op":"replace","path":"/size","value":2}]})"
        )
    );
    EXPECT_EQ(state(), R"({"state":{"size":2}})");
}

TEST_F(StateTool, RefusesADocumentThatDoesNotFitItsSchema) {
    const std::string body = change(R"([{"op":"replace","path":"/size","value":"x"}])").body;

    EXPECT_THAT(body, AllOf(HasSubstr("The state was not changed: "), HasSubstr("/size")));
    EXPECT_EQ(state(), R"({"state":{"size":1}})");
}

TEST_F(StateTool, RefusesAPatchThatDoesNotApply) {
    const std::string body = change(R"([{"op":"remove","path":"/x"}])").body;

    EXPECT_THAT(body, HasSubstr("The state was not changed: [0].path"));
    EXPECT_EQ(state(), R"({"state":{"size":1}})");
}

TEST_F(StateTool, BelongsToTheServerAndToItsAgentAlone) {
    std::vector<std::string> requests;
    std::mutex mutex;
    options.script_of = [&](const gateway::model_config&) {
        return [&](const runner::transport_request& request) {
            const std::lock_guard lock(mutex);
            requests.push_back(request.body);
            return std::optional(say("Hi"));
        };
    };
    settings.agents.push_back(settings.agents.at(0));
    settings.agents.back().id = "other";
    settings.agents.back().state_tool = false;
    settings.agents.back().state_schema.clear();
    start();
    const std::string offered =
        R"(,"tools":[{"name":"update_state","description":"mine","parameters":{"type":"object"}}])";
    run("r1", offered);
    ask(post("/agui/agents/other", run_body("t2", "r1")));

    const std::lock_guard lock(mutex);
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_THAT(requests[0], HasSubstr("It must always fit this JSON Schema"));
    EXPECT_THAT(requests[0], ::testing::Not(HasSubstr("mine")));
    EXPECT_THAT(requests[1], ::testing::Not(HasSubstr("update_state")));
}

class PredictedState : public State {
protected:
    PredictedState() {
        settings.agents.at(0).predictions = {
            {.tool = "change", .argument = "text", .state_key = "document"}
        };
    }

    // The model writes the argument in pieces.
    void write(const std::vector<std::string>& pieces) {
        std::string frames = call_frame("c0", "change", pieces.front());
        for (std::size_t i = 1; i < pieces.size(); ++i) {
            frames += model_frame(json::serialize(json::object{
                {"choices",
                 {{{"index", 0},
                   {"delta",
                    {{"tool_calls", {{{"index", 0}, {"function", {{"arguments", pieces[i]}}}}}}}}}}}
            }));
        }
        answer.body = frames + end_frames("tool_calls");
    }
};

TEST_F(PredictedState, GrowsWithTheArgumentAndIsReplacedByWhatIsStored) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        const std::string text(call.arguments.at("text").as_string());
        (void)co_await call.run->replace_state({{"document", text + "!"}, {"kept", true}});
        co_return runner::tool_outcome{};
    });
    write({R"({"text":"Once upon )", "a time there was once", R"( a state."})"});
    start();

    const std::string body = run("r1", R"(,"state":{"kept":true})").body;

    EXPECT_THAT(
        body,
        HasSubstr(
            R"("name":"PredictState","value":[{"state_key":"document","tool":"change","tool_argument":"text"}])"
        )
    );
    const std::string path = R"({"delta":[{"op":"add","path":"/document","value":)";
    EXPECT_THAT(
        states_in(body),
        ElementsAre(
            R"({"snapshot":{"kept":true}})", path + R"("Once upon "}]})",
            path + R"("Once upon a time there was once"}]})",
            path + R"("Once upon a time there was once a state."}]})",
            R"({"snapshot":{"document":"Once upon a time there was once a state.!","kept":true}})"
        )
    );
}

TEST_F(PredictedState, IsTakenBackIfTheToolChangesNothing) {
    add_tool([](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
        co_return runner::tool_outcome{};
    });
    write({R"({"text":"a longer text"})"});
    start();

    EXPECT_THAT(
        states_in(run("r1").body),
        ElementsAre(R"({"snapshot":{"document":"a longer text"}})", R"({"snapshot":{}})")
    );
    EXPECT_EQ(state(), R"({"state":null})");
}

TEST_F(PredictedState, HoldsNoNumberThatJsonCannotExpress) {
    add_tool([](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
        co_return runner::tool_outcome{};
    });
    write({R"({"text":[1e400,"a longer text"]})"});
    start();

    EXPECT_THAT(states_in(run("r1").body), ElementsAre());
}

TEST_F(PredictedState, IsTakenBackAtAHandOff) {
    write({R"({"text":"a longer text"})"});
    start();
    const std::string body =
        run("r1", R"(,"state":{"a":1},"tools":[{"name":"change","description":""}])").body;

    const std::vector<std::string> states = states_in(body);
    EXPECT_EQ(states.size(), 3U);
    EXPECT_EQ(states.back(), R"({"snapshot":{"a":1}})");
}

TEST_P(TwoGateways, ReadersOfARunAreToldOfAChangeThroughEither) {
    start_both();
    const auto there = open(a(), post("/agui", body_of("r")));
    ASSERT_TRUE(model.wait_for_calls(1));

    EXPECT_EQ(ask_at(a(), json_patch(R"([{"op":"add","path":"/a","value":1}])")).status, 200);
    const raw_reply other = ask_at(b(), json_patch(R"([{"op":"add","path":"/b","value":2}])"));
    EXPECT_EQ(other.status, 200);
    EXPECT_EQ(other.body, R"({"state":{"a":1,"b":2}})");
    EXPECT_EQ(ask_at(b(), json_patch(R"([{"op":"remove","path":"/x"}])")).status, 409);
    model.answer({.text = "Hello"});

    EXPECT_THAT(
        states_in(rest_of(*there)),
        ElementsAre(R"({"snapshot":{"a":1}})", R"({"delta":[{"op":"add","path":"/b","value":2}]})")
    );
    EXPECT_EQ(ask_at(b(), get("/agui/threads/t/state")).body, other.body);
    EXPECT_EQ(ask_at(b(), json_patch(R"([{"op":"remove","path":"/a"}])")).status, 200)
        << "nothing holds the thread any more";
}

} // namespace
} // namespace agui::test
