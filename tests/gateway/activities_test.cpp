// Activities, steps and events of tools and plugins, as clients and later readers see them.

#include "runner/tools/run_context.hpp"
#include "tests/gateway/two_gateways_fixture.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
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
using ::testing::Not;

using tool_coroutine =
    std::function<boost::asio::awaitable<runner::tool_outcome>(runner::tool_invocation)>;

// The events of a stream of these types, without their times.
std::vector<std::string>
events_by_type(std::string_view stream, const std::vector<std::string_view>& types) {
    std::vector<std::string> found;
    for (const std::string& each : events_in(stream)) {
        json::object event = json::parse(each).as_object();
        const std::string type(event.at("type").as_string());
        if (std::ranges::find(types, type) != types.end()) {
            event.stable_erase("timestamp");
            found.push_back(json::serialize(event));
        }
    }
    return found;
}

class Activities : public server_test {
protected:
    Activities() {
        answer = call_tool("work");
        set_script();
    }

    // The server takes it at its start.
    void set_script() {
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const std::lock_guard lock(mutex_);
                asked_.push_back(request.body);
                const bool has_result = request.body.find(R"("role":"tool")") != std::string::npos;
                return std::optional(has_result ? say("Done") : answer);
            };
        };
    }

    void add_tool(tool_coroutine function) {
        options.tools.add({"work", "", nullptr}, std::move(function));
    }

    std::string run(std::string_view run_id) {
        return ask(post(
                       "/agui", R"({"threadId":"t","protocolVersion":"1.1","runId":")" +
                                    std::string(run_id) + R"(","messages":[{"id":"u-)" +
                                    std::string(run_id) + R"(","role":"user","content":"hello"}]})"
                   ))
            .body;
    }

    // The messages of the thread as `role id` or, of activities, as their JSON.
    std::vector<std::string> messages() {
        std::vector<std::string> all;
        const json::value body = json::parse(ask(get("/agui/threads/t/messages")).body);
        for (const json::value& each : body.at("messages").as_array()) {
            all.push_back(
                each.at("role") == "activity" ? json::serialize(each)
                                              : std::string(each.at("role").as_string())
            );
        }
        return all;
    }

    [[nodiscard]] std::vector<std::string> asked() const {
        const std::lock_guard lock(mutex_);
        return asked_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> asked_;
};

TEST_F(Activities, AreShownAsTheyChangeAndKeptAmongTheMessages) {
    use_sqlite();
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        const auto id =
            call.run->show_activity({.id = "a1", .type = "search", .content = {{"found", 0}}});
        const json::value patch{{{"op", "replace"}, {"path", "/found"}, {"value", 3}}};
        const auto done = call.run->patch_activity(*id, patch);
        co_return runner::tool_outcome{.content = std::string(done ? "yes" : "no")};
    });
    start();

    const std::string body = run("r1");

    EXPECT_THAT(
        events_by_type(body, {"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "TOOL_CALL_RESULT"}),
        ElementsAre(
            R"({"type":"ACTIVITY_SNAPSHOT","messageId":"c8e6692d-c639-8894-867c-4f3773ae168d","activityType":"search","content":{"found":0}})",
            R"({"type":"ACTIVITY_DELTA","messageId":"c8e6692d-c639-8894-867c-4f3773ae168d","activityType":"search","patch":[{"op":"replace","path":"/found","value":3}]})",
            HasSubstr(R"("content":"yes")")
        )
    );
    const auto kept = ElementsAre(
        "user", "assistant", "tool",
        R"({"id":"c8e6692d-c639-8894-867c-4f3773ae168d","role":"activity","content":{"found":3},"activityType":"search"})",
        "assistant"
    );
    EXPECT_THAT(messages(), kept);
    server.reset();
    set_script();
    start();
    EXPECT_THAT(messages(), kept) << "after a restart";
    const std::string history = ask(post("/agui/history", run_body("t", "h"))).body;
    EXPECT_THAT(history, HasSubstr(R"("content":{"found":3})"));
    run("r2");
    EXPECT_THAT(asked().back(), Not(HasSubstr("found"))) << "no model is told";
}

TEST_F(Activities, OfOneIdAreOneMessage) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        (void)call.run->show_activity({.id = "a1", .type = "plan", .content = {{"n", 1}}});
        co_return runner::tool_outcome{};
    });
    start();
    run("r1");
    const std::vector<std::string> before = messages();

    run("r2");

    const std::vector<std::string> after = messages();
    EXPECT_EQ(std::ranges::count_if(after, [](const auto& m) { return m.starts_with("{"); }), 1);
    EXPECT_EQ(after.at(3), before.at(3)) << "in its first place";
}

TEST_F(Activities, ThatCannotBeAreRefused) {
    std::vector<std::string> outcomes;
    add_tool([&](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        const auto note = [&](const auto& done) {
            outcomes.push_back(done ? "shown" : std::string(to_string(done.error().code)));
        };
        note(call.run->show_activity({.type = "", .content = {}}));
        note(call.run->show_activity(
            {.type = "x", .content = {{"a", std::string(runner::activity_bytes_max, 'x')}}}
        ));
        note(call.run->show_activity({.id = "a\n", .type = "x", .content = {}}));
        note(call.run->show_activity({.type = "agui-gateway.error", .content = {{"refused", true}}})
        );
        note(call.run->show_activity({.id = "a", .type = "x", .content = {}}));
        note(call.run->patch_activity("b", json::array()));
        note(call.run->patch_activity("a", {{{"op", "remove"}, {"path", "/x"}}}));
        note(call.run->patch_activity("a", {{{"op", "add"}, {"path", ""}, {"value", 1}}}));
        co_return runner::tool_outcome{};
    });
    start();

    const std::string body = run("r1");

    EXPECT_THAT(
        outcomes, ElementsAre(
                      "invalid_input", "invalid_input", "invalid_input", "invalid_input", "shown",
                      "not_found", "patch_conflict", "invalid_input"
                  )
    );
    EXPECT_EQ(events_by_type(body, {"ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"}).size(), 1U);
}

TEST_F(Activities, StepsAndEventsOfTheApplicationPassThrough) {
    add_tool([](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
        call.run->start_step("outer");
        call.run->start_step("inner");
        call.run->start_step("inner");
        call.run->finish_step("none");
        call.run->send_custom("progress", {{"percent", 50}});
        call.run->send_custom("agui-gateway.run.stopped", nullptr);
        call.run->send_raw({{"kind", "tick"}}, "clock");
        co_return runner::tool_outcome{};
    });
    start();

    const std::string body = run("r1");

    EXPECT_THAT(
        events_by_type(body, {"STEP_STARTED", "STEP_FINISHED", "RAW", "RUN_FINISHED"}),
        ElementsAre(
            R"({"type":"STEP_STARTED","stepName":"outer"})",
            R"({"type":"STEP_STARTED","stepName":"inner"})",
            R"({"type":"RAW","event":{"kind":"tick"},"source":"clock"})",
            R"({"type":"STEP_FINISHED","stepName":"inner"})",
            R"({"type":"STEP_FINISHED","stepName":"outer"})", HasSubstr("RUN_FINISHED")
        )
    );
    EXPECT_THAT(
        body, AllOf(
                  HasSubstr(R"("name":"progress","value":{"percent":50})"),
                  Not(HasSubstr("agui-gateway.run.stopped"))
              )
    );
}

TEST_F(Activities, AnAnswersEffectsAreCarriedOut) {
    add_tool([](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
        const json::value answer = json::parse(
            R"({"_meta":{"org.agui-gateway/effects":{"state":{"a":1},
                "activities":[{"type":"card","content":{"n":1},"id":"a1"},{"type":"wrong"},7],
                "custom":[{"name":"done","value":null}]}}})"
        );
        runner::tool_outcome outcome;
        outcome.content = std::string("result");
        outcome.effects = runner::read_tool_effects(answer.as_object());
        co_return outcome;
    });
    start();

    EXPECT_THAT(
        events_by_type(run("r1"), {"STATE_SNAPSHOT", "ACTIVITY_SNAPSHOT", "TOOL_CALL_RESULT"}),
        ElementsAre(
            R"({"type":"STATE_SNAPSHOT","snapshot":{"a":1}})",
            R"({"type":"ACTIVITY_SNAPSHOT","messageId":"c8e6692d-c639-8894-867c-4f3773ae168d","activityType":"card","content":{"n":1}})",
            HasSubstr(R"("content":"result")")
        )
    );
}

TEST_F(Activities, ARefusedChangeOfTheStateStandsBeforeTheResult) {
    add_tool([](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
        const json::value answer = json::parse(
            R"({"_meta":{"org.agui-gateway/effects":{"statePatch":[{"op":"remove","path":"/x"}]}}})"
        );
        runner::tool_outcome outcome;
        outcome.content = std::string("result");
        outcome.effects = runner::read_tool_effects(answer.as_object());
        co_return outcome;
    });
    start();

    EXPECT_THAT(
        run("r1"),
        AllOf(HasSubstr("[The application's state was not changed: [0].path"), HasSubstr("result"))
    );
}

/// An MCP server whose tool reports progress and has a `ui://` resource.
constexpr const char* app_server = R"(
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    told='{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'$id
    case "$line" in
    *'"initialize"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}' ;;
    *'"tools/list"'*) say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"map","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://map"}}}]}}' ;;
    *'"tools/call"'*)
        say "$told"',"progress":1,"total":2,"message":"half"}}'
        say "$told"',"progress":2}}'
        say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"shown"}],"structuredContent":{"x":1},"_meta":{"org.agui-gateway/effects":{"state":{"map":true}}}}}' ;;
    esac
done
)";

TEST_F(Activities, AnMcpServersProgressAndItsAppAreShown) {
    gateway::mcp_server_config process;
    process.name = "local";
    process.command = "sh";
    process.args = {"-c", app_server};
    settings.tools.mcp_servers = {process};
    answer = call_tool("mcp__local__map", R"({"city":"Rome"})");
    start();

    const std::vector<std::string> events = events_by_type(
        run("r1"), {"STATE_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "TOOL_CALL_RESULT"}
    );

    EXPECT_THAT(
        events,
        ElementsAre(
            AllOf(
                HasSubstr(R"("activityType":"mcp-progress")"),
                HasSubstr(
                    R"("content":{"toolCallId":"c1","toolName":"mcp__local__map","progress":1,"total":2,"message":"half"})"
                )
            ),
            HasSubstr(R"("patch":[{"op":"replace","path":"/progress","value":2}])"),
            HasSubstr(R"("snapshot":{"map":true})"),
            AllOf(
                HasSubstr(R"("activityType":"mcp-apps")"), HasSubstr(R"("resourceUri":"ui://map")"),
                HasSubstr(R"("serverId":"local")"), HasSubstr(R"("toolInput":{"city":"Rome"})"),
                HasSubstr(R"("structuredContent":{"x":1})"), Not(HasSubstr("org.agui-gateway"))
            ),
            HasSubstr(R"("content":"shown")")
        )
    );
    EXPECT_EQ(messages().size(), 6U);
}

} // namespace
} // namespace agui::test
