// Scopes that depend on what a request says: its agent, and whether it answers an approval.

#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

    void add_token(std::string value, std::vector<std::string> scopes) {
        gateway::token_config& token = settings.auth->tokens.emplace_back();
        token.name = "ada";
        token.token.value = std::move(value);
        token.scopes = std::move(scopes);
    }
    void start_with(std::vector<std::string> scopes) {
        add_token("the-token-of-ada", std::move(scopes));
        add_token("the-reading-token", {"read"});
        start();
    }
    raw_reply send(std::string_view path, const std::string& body) {
        return ask(post(path, body, "Authorization: Bearer the-token-of-ada\r\n"));
    }
    /// Every agent calls a tool that needs an approval.
    void ask_for_approvals() {
        options.script_of = [](const gateway::model_config&) {
            return [](const runner::transport_request& request) {
                const bool is_first = request.body.find(R"("role":"tool")") == std::string::npos;
                return std::optional(is_first ? call_tool("order") : say("Ordered"));
            };
        };
        options.tools.add(
            {"order", "Orders something", {}},
            [this](runner::tool_invocation) -> boost::asio::awaitable<runner::tool_outcome> {
                ++executed;
                co_return runner::tool_outcome{runner::tool_outcome::kind::result, "done"};
            },
            {.approval = runner::approval_rule::always}
        );
    }
    std::string interrupt() {
        const std::string path = "/agui/threads/" + thread + "/pending";
        const raw_reply reply = ask(get(path, "Authorization: Bearer the-reading-token\r\n"));
        const auto open = boost::json::parse(reply.body).at("interrupts").as_array();
        last_interrupt = open.at(0).at("id").as_string();
        return last_interrupt;
    }
    [[nodiscard]] std::string
    order(std::string_view run_id, const std::string& answered = {}) const {
        std::string body = R"({"threadId":")" + thread + R"(","runId":")" + std::string(run_id) +
                           R"(","protocolVersion":"1.1","messages":[)" +
                           R"({"id":"u1","role":"user","content":"Order"}])";
        if (!answered.empty()) {
            body += R"(,"resume":[{"interruptId":")" + answered +
                    R"(","status":"resolved","payload":{"approved":true}}])";
        }
        return body + "}";
    }
    [[nodiscard]] std::string legacy_answer(std::string_view run_id) const {
        std::string body = order(run_id);
        body.pop_back();
        return body + R"(,"forwardedProps":{"command":{"resume":{"approved":true}}}})";
    }

    std::string thread = "t";
    std::string last_interrupt;
    std::atomic<int> executed = 0;
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
}

TEST_F(AgentScopes, OfOneAgentReachTheThreadsOfThatAgent) {
    add_token("the-running-token", {"run"});
    start_with({"agents:other:run"});
    const std::string running = "Authorization: Bearer the-running-token\r\n";
    EXPECT_EQ(send("/agui/agents/other", run_body("of-other", "r")).status, 200);
    EXPECT_EQ(ask(post("/agui", run_body("of-default", "r"), running)).status, 200);
    const auto statuses = [this](const std::string& id) {
        const std::string named = R"({"threadId":")" + id + '"';
        return std::vector<int>{
            send("/agui/cancel", named + "}").status,
            send("/agui/steer", named + R"(,"message":{"id":"m","role":"user","content":"x"}})")
                .status,
            send("/agui/threads/" + id + "/calls/c/claim", R"({"holder":"h"})").status,
            send(
                "/agui/threads/" + id + "/parts",
                R"({"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}})"
            )
                .status,
            send("/copilotkit/agent/other/stop/" + id, "{}").status,
        };
    };

    EXPECT_THAT(statuses("of-other"), ElementsAre(200, 409, 404, 200, 200));
    EXPECT_THAT(statuses("of-default"), ElementsAre(403, 403, 403, 403, 403));
    EXPECT_THAT(statuses("unknown"), ElementsAre(403, 403, 403, 403, 403))
        << "the agent is unknown";
    // The agent of the latest run decides.
    EXPECT_EQ(ask(post("/agui", run_body("of-other", "r2"), running)).status, 200);
    EXPECT_EQ(send("/agui/cancel", R"({"threadId":"of-other"})").status, 403);
}

TEST_F(AgentScopes, AnAnswerToAnApprovalNeedsMore) {
    ask_for_approvals();
    start_with({"run"});

    EXPECT_EQ(send("/agui/agents/default", order("r1")).status, 200);
    const raw_reply refused = send("/agui/agents/default", order("r2", interrupt()));
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("\"approve\\\""));
    EXPECT_EQ(executed, 0);
}

// The request may name any agent: it is the one that asked that decides.
TEST_F(AgentScopes, AnAnswerNeedsTheScopeForTheAgentThatAsked) {
    ask_for_approvals();
    start_with({"run", "read", "agents:other:approve"});

    EXPECT_EQ(send("/agui/agents/default", order("r1")).status, 200);
    const raw_reply refused = send("/agui/agents/other", order("r2", interrupt()));
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("agents:default:approve"));
    const raw_reply unknown = send("/agui/agents/other", order("r3", "never:asked"));
    EXPECT_EQ(unknown.status, 403);
    EXPECT_THAT(unknown.body, Not(HasSubstr("agents:")));
    const raw_reply legacy = send("/agui/agents/other", legacy_answer("r4"));
    EXPECT_EQ(legacy.status, 403);
    EXPECT_EQ(executed, 0);

    thread = "u";
    EXPECT_EQ(send("/agui/agents/other", order("r5")).status, 200);
    EXPECT_EQ(send("/agui/agents/other", order("r6", interrupt())).status, 200);
    EXPECT_EQ(executed, 1);
    EXPECT_EQ(send("/agui/agents/other", order("r6", last_interrupt)).status, 200)
        << "a repeat after the answer";
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
