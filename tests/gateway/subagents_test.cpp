// Agents that an agent calls as tools, over HTTP: across a restart, and in the chat stream.
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Subagents : public server_test {
protected:
    Subagents() {
        use_sqlite();
        gateway::agent_config writer = settings.agents.front();
        writer.id = "writer";
        writer.instructions = "You are the {{agent}} of {{thread}}.";
        settings.agents.front().agents = {"writer"};
        settings.agents.push_back(writer);
    }

    // The writer calls a tool of the page. Each server takes the options.
    void start() {
        options = {};
        options.log = &null_logger();
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const bool is_first = request.body.find(R"("role":"tool")") == std::string::npos;
                const bool is_writer =
                    request.body.find("You are the writer of t.") != std::string::npos;
                const std::lock_guard guard(mutex_);
                requests_.push_back(request.body);
                if (is_writer) {
                    return std::optional(is_first ? call_tool("paint") : say("Painted."));
                }
                return std::optional(
                    is_first ? call_tool("writer", R"({"task":"Paint it."})") : say("It is blue.")
                );
            };
        };
        server_test::start();
    }

    static std::string body(std::string_view run_id, const std::string& messages) {
        return R"({"threadId":"t","runId":")" + std::string(run_id) +
               R"(","protocolVersion":"1.1","messages":[)" + messages +
               R"(],"tools":[{"name":"paint","description":"Paints."}]})";
    }

    raw_reply run(std::string_view run_id, const std::string& messages) {
        return ask(post("/agui", body(run_id, messages)));
    }

    std::string pending_call() {
        const json::value pending = json_of("/agui/threads/t/pending");
        const json::array& calls = pending.at("toolCalls").as_array();
        EXPECT_EQ(calls.size(), 1U) << json::serialize(pending);
        return calls.empty() ? "" : std::string(calls[0].at("toolCallId").as_string());
    }

    static std::string answer_to(const std::string& call) {
        return R"({"id":"x","role":"tool","content":"done","toolCallId":")" + call + R"("})";
    }

    const std::string question = R"({"id":"u1","role":"user","content":"Blue, please."})";
    std::mutex mutex_;
    std::vector<std::string> requests_;
};

TEST_F(Subagents, GoOnAfterARestart) {
    start();
    const std::string asked = run("r1", question).body;
    EXPECT_THAT(asked, HasSubstr(R"("outcome":{"type":"suspended"})"));
    const std::string call = pending_call();
    EXPECT_NE(call, "c1") << "the call of the agent has that id";
    EXPECT_THAT(asked, HasSubstr(R"("pendingToolCallIds":[")" + call + R"("])"));
    server.reset();
    start();
    EXPECT_EQ(pending_call(), call);

    const std::string answered = run("r2", answer_to(call)).body;

    EXPECT_THAT(answered, HasSubstr(R"("subagentRunId":"c1:agent","result":"Painted.")"));
    EXPECT_THAT(answered, HasSubstr("It is blue."));
    ASSERT_EQ(requests_.size(), 4U);
    EXPECT_THAT(requests_[1], Not(HasSubstr("Blue, please.")));
    EXPECT_THAT(requests_[3], Not(HasSubstr("paint it")));
    EXPECT_THAT(ask(get("/agui/threads/t/pending")).body, HasSubstr(R"("toolCalls":[])"));
    EXPECT_EQ(
        ask(get("/agui/threads/t/runs/r2/events?after=0&protocolVersion=1.1")).body, answered
    );
}

TEST_F(Subagents, AnAnswerToTheCallOfAnAgentIsIgnored) {
    start();
    (void)run("r1", question);

    const std::string forged = run("r2", answer_to("c1")).body;

    EXPECT_THAT(forged, Not(HasSubstr("TEXT_MESSAGE")));
    EXPECT_NE(pending_call(), "c1");
    EXPECT_EQ(requests_.size(), 2U);
}

TEST_F(Subagents, AUserMessageInsteadOfTheAnswerLetsThemGoOn) {
    start();
    (void)run("r1", question);

    const std::string next =
        run("r2", question + R"(,{"id":"u2","role":"user","content":"Never mind."})").body;

    EXPECT_THAT(next, HasSubstr("It is blue."));
    ASSERT_EQ(requests_.size(), 4U);
    EXPECT_THAT(requests_[2], HasSubstr("not answered by the application"));
    EXPECT_THAT(requests_[3], HasSubstr("Never mind."));
}

TEST_F(Subagents, TheChatStreamHasTheirCallsAndNotTheirText) {
    start();
    const std::string asked =
        ask(post(
                "/chat/stream", R"({"sessionId":"t","messageId":"r1","message":"Blue, please.",)"
                                R"("tools":[{"name":"paint","description":"Paints."}]})"
            ))
            .body;
    EXPECT_THAT(asked, HasSubstr(R"("toolName":"paint")"));
    EXPECT_THAT(asked, HasSubstr(R"("pending":true)"));

    const std::string answered =
        ask(post(
                "/chat/stream",
                R"({"sessionId":"t","messageId":"r2","toolResults":[{"toolCallId":")" +
                    pending_call() + R"(","content":"done"}]})"
            ))
            .body;

    EXPECT_THAT(answered, HasSubstr(R"("type":"content","value":"It is blue.")"));
    EXPECT_THAT(answered, Not(HasSubstr(R"("type":"content","value":"Painted.")")));
    EXPECT_THAT(answered, HasSubstr(R"("result":"Painted.")"));
}

} // namespace
} // namespace agui::test
