// Calls that can never be answered, in every view of their thread.
#include "runner/hooks/plugin.hpp"
#include "session/base/failpoint.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view interrupted =
    "The call was interrupted; whether it had any effect is unknown.";
constexpr std::string_view unanswered = "The call was not answered by the application.";

const std::string user_1 = R"({"id":"u1","role":"user","content":"Paint"})";
const std::string user_2 = R"({"id":"u2","role":"user","content":"And?"})";
// The copy of a client that knows two calls and no results.
const std::string both_calls =
    R"({"id":"a1","role":"assistant","toolCalls":[)"
    R"({"id":"c1","type":"function","function":{"name":"paint","arguments":"{}"}},)"
    R"({"id":"c2","type":"function","function":{"name":"paint","arguments":"{}"}}]})";

// An answer with two calls of the caller's tool, and then `more`.
runner::scripted_answer two_calls(std::string more = end_frames("tool_calls")) {
    runner::scripted_answer made;
    made.body =
        model_frame(
            R"({"choices":[{"index":0,"delta":{"tool_calls":[)"
            R"({"index":0,"id":"c1","type":"function","function":{"name":"paint","arguments":"{}"}},)"
            R"({"index":1,"id":"c2","type":"function","function":{"name":"paint","arguments":"{}"}}]}}]})"
        ) +
        more;
    return made;
}

// The events of a stream.
std::vector<json::object> events_of(std::string_view body) {
    std::vector<json::object> events;
    for (std::size_t at = body.find("data: "); at != std::string_view::npos;
         at = body.find("data: ", at)) {
        at += 6;
        events.push_back(json::parse(body.substr(at, body.find('\n', at) - at)).as_object());
    }
    return events;
}

std::string_view type_of(const json::object& event) { return event.at("type").as_string(); }

json::array snapshot_in(std::string_view body) {
    for (const json::object& event : events_of(body)) {
        if (type_of(event) == "MESSAGES_SNAPSHOT") {
            return event.at("messages").as_array();
        }
    }
    return {};
}

// Returns `c1: why` for each tool message.
std::vector<std::string> results_in(const json::array& messages) {
    std::vector<std::string> found;
    for (const json::value& each : messages) {
        const json::object& message = each.as_object();
        if (message.at("role").as_string() == "tool") {
            const auto* const error = message.if_contains("error");
            found.push_back(
                std::string(message.at("toolCallId").as_string()) + ": " +
                (error == nullptr ? "no error" : std::string(error->as_string()))
            );
        }
    }
    return found;
}

class DeadCalls : public server_test {
protected:
    DeadCalls() {
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request&) {
                ++asked;
                const std::lock_guard lock(mutex_);
                return std::optional(answer);
            };
        };
    }

    void answer_with(runner::scripted_answer next) {
        const std::lock_guard lock(mutex_);
        answer = std::move(next);
    }

    static std::string body(
        std::string_view run_id, std::string_view messages, std::string_view version = "1.1",
        std::string_view more = {}
    ) {
        std::string made = R"({"threadId":"t","runId":")" + std::string(run_id) + R"(",)";
        if (!version.empty()) {
            made.append(R"("protocolVersion":")").append(version).append(R"(",)");
        }
        return made +
               R"("tools":[{"name":"paint","description":"","parameters":{"type":"object"}}],)" +
               R"("messages":[)" + std::string(messages) + "]" + std::string(more) + "}";
    }

    raw_reply run(std::string_view run_id, std::string_view messages) {
        return ask(post("/agui", body(run_id, messages)));
    }

    // Returns the stream of a run that is stopped while its model says `said`.
    std::string stopped_in(runner::scripted_answer said) {
        said.stall_after_frames = 1;
        answer_with(std::move(said));
        raw_client client(port());
        client.send(post("/agui", body("r1", user_1)));
        std::string stream = client.read_until(R"("toolCallId":"c1")");
        ask(post("/agui/cancel", R"({"threadId":"t","runId":"r1"})"));
        stream += client.read_until("\r\n0\r\n\r\n");
        answer_with(say("Hello"));
        return stream;
    }
    std::string stop_with_open_calls() { return stopped_in(two_calls({})); }

    // Returns the tool messages of the views, which must all be equal.
    std::vector<std::string> results_of_views() {
        std::vector<std::vector<std::string>> views;
        for (const std::string version : {"1.1", "1.0", ""}) {
            const std::string id = std::to_string(++views_);
            const std::string loaded =
                ask(get("/agui/threads/t/messages?protocolVersion=" + version)).body;
            const std::string history =
                ask(post("/agui/history", body("h" + id, "", version))).body;
            const std::string nothing_new = ask(post("/agui", body("n" + id, "", version))).body;
            views.push_back(results_in(json::parse(loaded).at("messages").as_array()));
            views.push_back(results_in(snapshot_in(history)));
            views.push_back(results_in(snapshot_in(nothing_new)));
        }
        for (const auto& view : views) {
            EXPECT_EQ(view, views.front());
        }
        return views.front();
    }

    std::atomic<int> asked = 0;

private:
    std::mutex mutex_;
    int views_ = 0;
};

TEST_F(DeadCalls, AfterAStopAReloadShowsNoOpenCall) {
    start();

    const std::string stream = stop_with_open_calls();

    EXPECT_THAT(stream, Not(HasSubstr("TOOL_CALL_RESULT"))) << "the page may still answer itself";
    const int before = asked;
    EXPECT_THAT(
        results_of_views(),
        ElementsAre("c1: " + std::string(interrupted), "c2: " + std::string(interrupted))
    );
    EXPECT_EQ(asked, before) << "a load asks no model";
    EXPECT_THAT(ask(get("/agui/threads/t/pending")).body, HasSubstr(R"("toolCalls":[])"));
}

TEST_F(DeadCalls, AnAbandonedCallHasAnErrorResult) {
    answer_with(two_calls());
    start();
    ASSERT_THAT(run("r1", user_1).body, HasSubstr("pendingToolCallIds"));
    EXPECT_THAT(results_of_views(), IsEmpty()) << "they can be answered";
    answer_with(say("Hello"));
    run("r2", user_2);

    EXPECT_THAT(
        results_of_views(),
        ElementsAre("c1: " + std::string(unanswered), "c2: " + std::string(unanswered))
    );
}

TEST_F(DeadCalls, ACallCutOffByLengthHasAnErrorResult) {
    answer_with(two_calls(end_frames("length")));
    start();
    EXPECT_THAT(run("r1", user_1).body, HasSubstr("model_output_truncated"));

    EXPECT_THAT(
        results_of_views(),
        ElementsAre("c1: " + std::string(interrupted), "c2: " + std::string(interrupted))
    );
}

TEST_F(DeadCalls, ACallOfALostModelHasAnErrorResult) {
    runner::scripted_answer lost = two_calls({});
    lost.drop_after_frames = 1;
    answer_with(lost);
    start();
    EXPECT_THAT(run("r1", user_1).body, HasSubstr("RUN_ERROR"));

    EXPECT_THAT(
        results_of_views(),
        ElementsAre("c1: " + std::string(interrupted), "c2: " + std::string(interrupted))
    );
}

class refusing_plugin final : public runner::plugin {
public:
    boost::asio::awaitable<void>
    on_message_append(runner::plugin_turn& /*turn*/, runner::appended_message& value) override {
        value.deny_call("c1");
        value.deny_call("c2");
        co_return;
    }
};

TEST_F(DeadCalls, ADeniedCallHasAnErrorResult) {
    runner::scripted_answer calls = two_calls();
    options.plugins.push_back(std::make_shared<refusing_plugin>());
    settings.agents.at(0).max_rounds = 1;
    answer_with(calls);
    start();
    run("r1", user_1);
    answer_with(say("Hello"));

    const json::array messages =
        json::parse(ask(get("/agui/threads/t/messages")).body).at("messages").as_array();
    ASSERT_GE(results_in(messages).size(), 2U);
    EXPECT_EQ(results_in(messages).at(0), "c1: The call was not allowed.");
    EXPECT_EQ(results_in(messages).at(1), "c2: The call was not allowed.");
}

#ifdef AGUI_FAILPOINTS

TEST_F(DeadCalls, ACallOfARunThatWasLostHasAnErrorResult) {
    use_sqlite(); // The log then has the text of the run.
    runner::scripted_answer said;
    said.body = call_frame("c1", "paint");
    start();
    {
        const failpoint_hook hook([](std::string_view place) {
            if (place == "run.finish") {
                throw std::runtime_error("the process is lost");
            }
        });
        EXPECT_THAT(stopped_in(said), HasSubstr("RUN_ERROR"));
    }
    run("r2", user_2); // Its run ends the earlier one first.

    EXPECT_THAT(results_of_views(), ElementsAre("c1: " + std::string(interrupted)));
}

#endif // AGUI_FAILPOINTS

// ---- What a client that has the calls is told at the start of a run
// --------------------------------

// `TYPE toolCallId messageId` of the events that follow RUN_STARTED, until text begins.
std::vector<std::string> told_at_start(std::string_view stream) {
    std::vector<std::string> told;
    const std::vector<json::object> events = events_of(stream);
    for (std::size_t i = 1; i < events.size() && type_of(events[i]) == "TOOL_CALL_RESULT"; ++i) {
        EXPECT_FALSE(events[i].contains("role"));
        told.push_back(
            std::string(events[i].at("toolCallId").as_string()) + " " +
            std::string(events[i].at("messageId").as_string()) + " " +
            std::string(events[i].at("content").as_string())
        );
    }
    return told;
}

const std::string dead_content = R"({"error":")" + std::string(interrupted) + R"("})";

TEST_F(DeadCalls, AClientThatShowsThemWithoutResultIsTold) {
    start();
    stop_with_open_calls();

    const raw_reply next = run("r2", user_1 + "," + both_calls + "," + user_2);

    EXPECT_THAT(
        told_at_start(next.body),
        ElementsAre("c1 c1:missing " + dead_content, "c2 c2:missing " + dead_content)
    );
    EXPECT_THAT(next.body, Not(HasSubstr("agui-gateway.tool.failed")));
}

TEST_F(DeadCalls, AClientThatHasResultsOfItsOwnIsNotTold) {
    start();
    stop_with_open_calls();
    const std::string own = R"({"id":"x","role":"tool","toolCallId":"c2","content":"stopped"})";

    const raw_reply next = run("r2", user_1 + "," + both_calls + "," + own + "," + user_2);

    EXPECT_THAT(told_at_start(next.body), ElementsAre("c1 c1:missing " + dead_content));
}

TEST_F(DeadCalls, AClientThatSendsNoHistoryIsNotTold) {
    start();
    stop_with_open_calls();

    EXPECT_THAT(told_at_start(run("r2", user_2).body), IsEmpty());
}

TEST_F(DeadCalls, TheRunThatAbandonsThemTellsSo) {
    answer_with(two_calls());
    start();
    run("r1", user_1);
    answer_with(say("Hello"));

    const raw_reply next = run("r2", user_1 + "," + both_calls + "," + user_2);

    EXPECT_EQ(told_at_start(next.body).size(), 2U);
    EXPECT_THAT(next.body, HasSubstr(std::string(unanswered)));
}

TEST_F(DeadCalls, AClientMaySendBackTheResultsOfDeadCalls) {
    start();
    stop_with_open_calls();
    const std::string told_1 = R"({"id":"c1:missing","role":"tool","toolCallId":"c1","content":)" +
                               json::serialize(json::value(dead_content)) + "}";
    const std::string told_2 = R"({"id":"c2:tool","role":"tool","toolCallId":"c2","content":)" +
                               json::serialize(json::value(dead_content)) + "}";
    const int before = asked;

    const raw_reply nothing = run("r2", user_1 + "," + both_calls + "," + told_1 + "," + told_2);

    EXPECT_EQ(asked, before) << "no answered results";
    EXPECT_THAT(told_at_start(nothing.body), IsEmpty());
    EXPECT_THAT(ask(get("/agui/threads/t/events")).body, Not(HasSubstr("tool.response")));
}

TEST_F(DeadCalls, AFollowLeavesOutTheMessagesOfItsSnapshot) {
    start();
    stop_with_open_calls();
    answer_with(say_and_stall("Live"));
    raw_client client(port());
    client.send(post("/agui", body("r2", user_1 + "," + both_calls + "," + user_2)));
    ASSERT_THAT(client.read_until("Live"), HasSubstr("c1:missing"));

    raw_client reader(port());
    reader.send(post("/agui/history", body("h", "", "1.1", R"(,"forwardedProps":{"follow":true})"))
    );
    const std::string stream = reader.read_until("Live\"}\n");

    EXPECT_EQ(results_in(snapshot_in(stream)).size(), 2U);
    EXPECT_THAT(stream, Not(HasSubstr("TOOL_CALL_RESULT")));
    EXPECT_THAT(stream, HasSubstr("TEXT_MESSAGE_START"));
    ask(post("/agui/cancel", R"({"threadId":"t"})"));
}

// ---- The chat stream ---------------------------------------------------------------------------

TEST_F(DeadCalls, TheChatStreamSaysThatTheyFailed) {
    start();
    stop_with_open_calls();

    const std::string frames =
        ask(get("/agui/threads/t/runs/r1/events?form=chat-stream&responseMode=full")).body;

    EXPECT_THAT(
        frames, HasSubstr(
                    R"({"type":"tool_execution_complete","value":{"toolCallId":"c2",)"
                    R"("toolName":"paint","error":")" +
                    std::string(interrupted)
                )
    );
    EXPECT_THAT(
        ask(get("/agui/threads/t/runs/r1/events?form=chat-stream")).body,
        HasSubstr(R"("toolCallId":"c1","toolName":"paint","error":)")
    );
}

TEST_F(DeadCalls, TheChatStreamOfALaterRunLeavesThemOut) {
    start();
    stop_with_open_calls();
    run("r2", user_1 + "," + both_calls + "," + user_2);

    EXPECT_THAT(
        ask(get("/agui/threads/t/runs/r2/events?form=chat-stream&responseMode=full")).body,
        Not(HasSubstr("tool_execution_complete"))
    );
}

// ---- Failed runs -------------------------------------------------------------------------------

// The metadata of the message with that id.
json::value metadata_of(const json::array& messages, std::string_view id) {
    for (const json::value& each : messages) {
        const auto* const metadata = each.as_object().if_contains("metadata");
        if (each.at("id").as_string() == id && metadata != nullptr) {
            return *metadata;
        }
    }
    return nullptr;
}

TEST_F(DeadCalls, AFailedRunIsVisibleInTheHistory) {
    runner::scripted_answer fails;
    fails.status = 500;
    answer_with(fails);
    start();
    ASSERT_THAT(run("r1", user_1).body, HasSubstr("model_unavailable"));
    const json::value expected = {
        {"agui-gateway.error",
         {{"code", "model_unavailable"},
          {"message", "The model server could not be reached or failed."}}}
    };
    const auto loaded = [&] {
        return json::parse(ask(get("/agui/threads/t/messages")).body).at("messages").as_array();
    };

    ASSERT_EQ(loaded().size(), 1U);
    EXPECT_EQ(metadata_of(loaded(), "u1"), expected);
    EXPECT_EQ(
        metadata_of(snapshot_in(ask(post("/agui/history", body("h", ""))).body), "u1"), expected
    );
    EXPECT_THAT(ask(get("/agui/threads/t/branches")).body, HasSubstr(R"("lastMessageId":"u1")"));

    answer_with(say("Hello"));
    EXPECT_THAT(run("r2", user_1).body, HasSubstr("RUN_FINISHED")) << "a retry";
    ASSERT_EQ(loaded().size(), 2U);
    EXPECT_THAT(ask(get("/agui/threads/t/branches")).body, Not(HasSubstr(R"("branch":1)")));
}

} // namespace
} // namespace agui::test
