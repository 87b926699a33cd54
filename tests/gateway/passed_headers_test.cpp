#include "tests/gateway/server_fixture.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace agui::test {
namespace {

using ::testing::UnorderedElementsAre;

class PassedHeaders : public server_test {
protected:
    PassedHeaders() {
        options.tools.add(
            {"who", "Sees the call", {}},
            [this](runner::tool_invocation call) -> boost::asio::awaitable<runner::tool_outcome> {
                seen.push_back(std::move(call));
                co_return runner::tool_outcome{runner::tool_outcome::kind::external, {}};
            }
        );
        answer = call_tool("who");
    }

    std::vector<runner::tool_invocation> seen;
};

TEST_F(PassedHeaders, AreThoseThatAWebhookNamesAndTheTrace) {
    auto& hook = settings.tools.webhooks.emplace_back();
    hook.definition.name = "hook";
    hook.url = "http://127.0.0.1:1/";
    hook.pass_headers = {"authorization", "x-long"};
    start();

    ask(post(
        "/agui", run_body("t1", "r1"),
        "Authorization: Bearer hers\r\nTraceparent: 00-1-2-01\r\nX-Other: no\r\nX-Long: " +
            std::string(5'000, 'x') + "\r\n"
    ));

    ASSERT_EQ(seen.size(), 1U);
    EXPECT_THAT(
        seen[0].headers, UnorderedElementsAre(
                             std::pair<std::string, std::string>("authorization", "Bearer hers"),
                             std::pair<std::string, std::string>("traceparent", "00-1-2-01")
                         )
    );
    EXPECT_EQ(seen[0].run_id, "r1");
}

TEST_F(PassedHeaders, AreThoseThatAnMcpServerNames) {
    auto& server_of_tools = settings.tools.mcp_servers.emplace_back();
    server_of_tools.name = "s";
    server_of_tools.url = "http://127.0.0.1:1/mcp";
    server_of_tools.pass_headers = {"x-tenant"};
    start();

    ask(post("/agui", run_body("t1", "r1"), "X-Tenant: t\r\nAuthorization: hers\r\n"));

    ASSERT_EQ(seen.size(), 1U);
    EXPECT_THAT(
        seen[0].headers, UnorderedElementsAre(std::pair<std::string, std::string>("x-tenant", "t"))
    );
}

TEST_F(PassedHeaders, HoldNoSession) {
    settings.auth.emplace();
    settings.auth->kind = gateway::auth_config::mode::bearer;
    settings.auth->token.value = "the-token-of-the-test";
    settings.auth->session.enabled = true;
    auto& hook = settings.tools.webhooks.emplace_back();
    hook.definition.name = "hook";
    hook.url = "http://127.0.0.1:1/";
    hook.pass_headers = {"cookie"};
    start();
    const raw_reply begun =
        ask("POST /agui/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
            "Authorization: Bearer the-token-of-the-test\r\n\r\n");
    const std::string set = begun.header("set-cookie");

    ask(post(
        "/agui", run_body("t1", "r1"),
        "Cookie: a=b; " + set.substr(0, set.find(';')) + "; c=d\r\nOrigin: http://localhost\r\n"
    ));

    ASSERT_EQ(seen.size(), 1U);
    EXPECT_THAT(
        seen[0].headers,
        UnorderedElementsAre(std::pair<std::string, std::string>("cookie", "a=b; c=d"))
    );
}

TEST_F(PassedHeaders, WithoutAWebhookAreOnlyTheTrace) {
    start();

    ask(post("/agui", run_body("t1", "r1"), "Authorization: Bearer hers\r\n"));

    ASSERT_EQ(seen.size(), 1U);
    EXPECT_TRUE(seen[0].headers.empty());
}

} // namespace
} // namespace agui::test
