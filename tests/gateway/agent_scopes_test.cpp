// Scopes that depend on what a request says: its agent, and whether it answers an approval.

#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::HasSubstr;

class AgentScopes : public server_test {
protected:
    AgentScopes() {
        settings.agents.push_back(settings.agents.front());
        settings.agents.back().id = "other";
        settings.auth.emplace();
        settings.auth->kind = gateway::auth_config::mode::bearer;
        settings.server.copilotkit_path = "/copilotkit";
    }
    ~AgentScopes() override { server.reset(); }

    void start_with(std::vector<std::string> scopes) {
        gateway::token_config& token = settings.auth->tokens.emplace_back();
        token.name = "ada";
        token.token.value = "the-token-of-ada";
        token.scopes = std::move(scopes);
        start();
    }
    raw_reply send(std::string_view path, const std::string& body) {
        return ask(post(path, body, "Authorization: Bearer the-token-of-ada\r\n"));
    }
    static std::string answer(std::string_view run_id) {
        return R"({"threadId":"t","runId":")" + std::string(run_id) +
               R"(","protocolVersion":"1.1","messages":[],)" +
               R"("resume":[{"interruptId":"i","status":"resolved","payload":{"approved":true}}]})";
    }
};

TEST_F(AgentScopes, OfOneAgentOpenThatAgentAlone) {
    start_with({"agents:other:run"});

    EXPECT_EQ(send("/agui/agents/other", run_body("t", "r")).status, 200);
    EXPECT_EQ(
        send("/chat/agents/other/stream", R"({"message":"hi","session_id":"s"})").status, 200
    );
    const raw_reply refused = send("/agui/agents/default", run_body("t", "r2"));
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("agents:default:run"));
    EXPECT_EQ(
        refused.header("www-authenticate"), R"(Bearer error="insufficient_scope", scope="run")"
    );
    EXPECT_EQ(send("/agui", run_body("t", "r3")).status, 403) << "the default agent";
    EXPECT_EQ(send("/copilotkit/agent/default/run", run_body("t", "r4")).status, 403);
    EXPECT_EQ(send("/agui/agents/nobody", run_body("t", "r5")).status, 403);
    EXPECT_EQ(send("/agui/steer", run_body("t", "r6")).status, 403) << "the run's agent is unknown";
}

TEST_F(AgentScopes, AnAnswerToAnApprovalNeedsMore) {
    start_with({"run", "agents:other:approve"});

    const raw_reply refused = send("/agui", answer("r"));
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("agents:default:approve"));
    EXPECT_NE(send("/agui/agents/other", answer("r")).status, 403);
    EXPECT_EQ(send("/agui", run_body("t2", "r2")).status, 200);
}

TEST_F(AgentScopes, EnvelopesNeedTheScopesOfTheirContent) {
    start_with({"run"});
    const auto envelope = [this](std::string_view method, const std::string& rest) {
        return send("/copilotkit", R"({"method":")" + std::string(method) + "\"" + rest + "}");
    };
    const std::string run = R"(,"params":{"agentId":"default"},"body":)" + run_body("t", "r");
    const std::string list = R"(,"params":{"path":"/threads?agentId=default","httpMethod":"GET"})";

    EXPECT_EQ(envelope("info", "").status, 200);
    EXPECT_EQ(envelope("agent/run", run).status, 200);
    const raw_reply refused = envelope("resource/request", list);
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.header("www-authenticate"), HasSubstr("scope=\"read\""));
}

} // namespace
} // namespace agui::test
