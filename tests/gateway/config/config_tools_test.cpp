// [tools] and [[mcp_servers]].
#include "tests/gateway/config/config_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

using test::ConfigSecret;
using test::load;
using test::minimal;
using test::problem_of;

TEST(Config, ReadsWhoseCallsAPersonHasToApprove) {
    using runner::approval_rule;
    const std::string tools = R"(
[[tools.webhook]]
name = "w"
url = "http://h/"
APPROVAL
[[mcp_servers]]
name = "files"
url = "http://127.0.0.1:9001/mcp"
APPROVAL
)";
    const auto rules_of = [&tools](const std::string& rule) {
        std::string text = std::string(minimal) + tools;
        for (std::size_t at = 0; (at = text.find("APPROVAL")) != std::string::npos;) {
            text.replace(at, 8, rule);
        }
        const config all = load(text).value();
        return std::pair(all.tools.webhooks.at(0).approval, all.tools.mcp_servers.at(0).approval);
    };
    EXPECT_EQ(rules_of(""), std::pair(approval_rule::never, approval_rule::never));
    EXPECT_EQ(
        rules_of("approval = \"always\""), std::pair(approval_rule::always, approval_rule::always)
    );
    EXPECT_EQ(
        rules_of("approval = \"destructive\""),
        std::pair(approval_rule::destructive, approval_rule::destructive)
    );
    const std::string agent = std::string(minimal) +
                              "[[agents]]\nid = \"a\"\nmodels = [\"main\"]\napproval = \"always\"\n"
                              "[tools]\napproval_seconds = 5\n";
    const config all = load(agent).value();
    EXPECT_EQ(all.agents.at(0).approval, approval_rule::always);
    EXPECT_EQ(all.session.history.approval_life, std::chrono::seconds(5));
    EXPECT_NE(problem_of(minimal, {"tools.approval_seconds=0"}), "");
}

TEST(Config, ReadsWhichToolsClientsMayOffer) {
    EXPECT_FALSE(load(minimal)->tools.client_names);
    const config all = load(minimal, {"tools.client_names=[\"paint\", \"page_*\"]"}).value();
    EXPECT_EQ(all.tools.client_names, (std::vector<std::string>{"paint", "page_*"}));
    const config none = load(minimal, {"tools.client_names=[]"}).value();
    EXPECT_TRUE(none.tools.client_names && none.tools.client_names->empty());
    EXPECT_NE(print_config(none).find("client_names = []"), std::string::npos);
    const config own = load(
                           minimal, {"agents.0.id=a", "agents.0.models=[\"main\"]",
                                     "agents.0.client_tools=[\"draw\"]"}
    )
                           .value();
    EXPECT_EQ(own.agents.at(0).client_tools, std::vector<std::string>{"draw"});
    for (const std::string wrong : {"paint", "[\"\"]", "[1]", "[\"a\\u0007\"]"}) {
        EXPECT_NE(problem_of(minimal, {"tools.client_names=" + wrong}), "") << wrong;
    }
}

TEST(Config, RefusesHeadersThatCannotBePassedOn) {
    const std::string hook = std::string(minimal) +
                             "[[tools.webhook]]\nname = \"w\"\nurl = \"http://h/\"\n"
                             "pass_headers = [\"X-Tenant\", \"";
    EXPECT_TRUE(load(hook + "cookie\"]\n"));
    for (const std::string name :
         {"Host", "content-length", "Transfer-Encoding", "idempotency-key", "connection", "", "a b",
          "a:b", "*"}) {
        EXPECT_NE(
            problem_of(hook + name + "\"]\n")
                .find("holds the name of a header that cannot be passed on"),
            std::string::npos
        ) << name;
    }
}

TEST_F(ConfigSecret, RefusesToPassItsOwnTokenOn) {
    const std::string webhook = std::string(minimal) + R"(
[[tools.webhook]]
name = "get_weather"
url = "http://127.0.0.1:9000/weather"
pass_headers = ["X-Tenant", "AUTHORIZATION"]
)";
    const std::string server = std::string(minimal) + R"(
[[mcp_servers]]
name = "files"
url = "http://127.0.0.1:9001/mcp"
pass_headers = ["Authorization"]
)";
    const std::vector<std::string> bearer{"auth.mode=bearer", "auth.token_env=AGUI_TEST_KEY"};

    for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
             {webhook, "tools: pass_headers of \"get_weather\" must not hold Authorization"},
             {server, "mcp_servers: pass_headers of \"files\" must not hold Authorization"},
         }) {
        SCOPED_TRACE(text);
        const std::string problem = problem_of(text, bearer);
        EXPECT_NE(problem.find(place), std::string::npos) << problem;
        EXPECT_NE(problem.find("X-Upstream-Authorization"), std::string::npos) << problem;
        EXPECT_TRUE(load(text)) << "without [auth] it is nobody's token but the tool's";
        EXPECT_TRUE(load(text, {"auth.mode=none"}));
        std::string other = text;
        const bool upper = other.find("AUTH") != std::string::npos;
        other.replace(
            other.find(upper ? "AUTHORIZATION" : "Authorization"), 13, "X-Upstream-Authorization"
        );
        EXPECT_TRUE(load(other, bearer));
    }
}

TEST_F(ConfigSecret, ReadsTheCredentialsOfCallersAndNeverPrintsThem) {
    const std::string file = write("token", "sk-canary-file\n");
    const config all = load(std::string(minimal) + R"(
[[tools.webhook]]
name = "hook"
url = "https://h/"
user_token_from = "X-Upstream-Authorization"
user_token_as = "X-Token"
[[mcp_servers]]
name = "files"
url = "https://h/mcp"
[[mcp_servers.user_tokens]]
user = "ada"
token_env = "AGUI_TEST_KEY"
[[mcp_servers.user_tokens]]
user = "ada"
tenant = "acme"
token_file = ")" + file + "\"\n")
                           .value();

    const caller_credentials_config& hook = all.tools.webhooks.at(0).callers;
    EXPECT_EQ(hook.from, "x-upstream-authorization");
    EXPECT_EQ(hook.as, "X-Token");
    EXPECT_TRUE(hook.are_required());
    const caller_credentials_config& files = all.tools.mcp_servers.at(0).callers;
    ASSERT_EQ(files.tokens.size(), 2U);
    EXPECT_EQ(files.as, "Authorization");
    EXPECT_EQ(files.tokens[0].token.value, "sk-canary");
    EXPECT_EQ(files.tokens[1].tenant, "acme");
    EXPECT_EQ(files.tokens[1].token.value, "sk-canary-file");
    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("user_token_from = 'x-upstream-authorization'"), std::string::npos);
    EXPECT_FALSE(load(minimal).value().tools.mcp_servers.size());
}

TEST_F(ConfigSecret, AnEmptyListOfUserTokensIsThatOfNobody) {
    for (const std::string tool :
         {"[[tools.webhook]]\nname = \"hook\"\nurl = \"https://h/\"\n",
          "[[mcp_servers]]\nname = \"s\"\nurl = \"https://h/\"\n"}) {
        const config all = load(std::string(minimal) + tool + "user_tokens = []\n").value();
        const bool is_hook = !all.tools.webhooks.empty();
        const caller_credentials_config& callers =
            is_hook ? all.tools.webhooks[0].callers : all.tools.mcp_servers.at(0).callers;
        EXPECT_TRUE(callers.are_required());
        EXPECT_TRUE(callers.tokens.empty());
        EXPECT_NE(print_config(all).find("user_tokens = []"), std::string::npos);
        const config none = load(std::string(minimal) + tool).value();
        EXPECT_EQ(print_config(none).find("user_tokens"), std::string::npos);
    }
}

TEST_F(ConfigSecret, RefusesCredentialsOfCallersThatWouldNotBeTheirs) {
    const std::string hook =
        std::string(minimal) + "[[tools.webhook]]\nname = \"hook\"\nurl = \"https://h/\"\n";
    const std::string mcp =
        std::string(minimal) + "[[mcp_servers]]\nname = \"s\"\nurl = \"https://h/\"\n";
    const std::string ada = "{ user = \"ada\", token_env = \"AGUI_TEST_KEY\" }";
    for (const std::string& tool : {hook, mcp}) {
        EXPECT_TRUE(load(tool + "user_tokens = [" + ada + "]\n"));
        for (const std::string wrong :
             {"user_tokens = [{ user = \"ada\" }]",
              "user_tokens = [{ token_env = \"AGUI_TEST_KEY\" }]",
              "user_tokens = [{ user = \"ada\", token_env = \"AGUI_TEST_ABSENT\" }]",
              "user_tokens = [{ user = \"ada\", token_env = \"AGUI_TEST_KEY\", token = \"sk\" }]",
              "user_token_from = \"Cookie\"", "user_token_from = \"Mcp-Session-Id\"",
              "user_token_from = \"Host\"", "user_token_as = \"X-Token\"",
              "user_token_from = \"X-A\"\nuser_token_as = \"Content-Length\""}) {
            EXPECT_NE(problem_of(tool + wrong + "\n"), "") << wrong;
        }
        const std::string twice = "user_tokens = [" + ada + ", " + ada + "]\n";
        EXPECT_NE(problem_of(tool + twice).find("names the user \"ada\" twice"), std::string::npos);
        const std::string own = tool + "user_token_from = \"Authorization\"\n";
        EXPECT_TRUE(load(own)) << "without [auth] the header is the caller's own";
        const std::string problem =
            problem_of(own, {"auth.mode=bearer", "auth.token_env=AGUI_TEST_KEY"});
        EXPECT_NE(problem.find("must not be Authorization"), std::string::npos) << problem;
    }
    const std::string with_own =
        "header_env = { X-Key = \"AGUI_TEST_KEY\" }\nuser_tokens = [" + ada + "]\n";
    EXPECT_NE(problem_of(hook + with_own).find("header_env"), std::string::npos);
    EXPECT_TRUE(load(mcp + with_own)) << "it is for the list of tools";
    EXPECT_NE(
        problem_of(
            std::string(minimal) +
            "[[mcp_servers]]\nname = \"s\"\ncommand = \"c\"\nuser_tokens = [" + ada + "]\n"
        ),
        ""
    );
}

TEST(Config, ReadsTheDigestThatAcceptsTheToolsOfAnMcpServer) {
    const std::string mcp =
        std::string(minimal) + "[[mcp_servers]]\nname = \"s\"\ncommand = \"c\"\n";
    const std::string digest(64, 'a');
    const config all = load(mcp + "digest = \"" + digest + "\"\n").value();
    EXPECT_EQ(all.tools.mcp_servers.at(0).digest, digest);
    EXPECT_NE(print_config(all).find(digest), std::string::npos);
    for (const std::string& wrong : {std::string(), digest + "a", std::string(64, 'A')}) {
        EXPECT_NE(problem_of(mcp + "digest = \"" + wrong + "\"\n"), "") << wrong;
    }
}

TEST_F(ConfigSecret, NeverPrintsTheQueryOfAWebhook) {
    const config all = load(std::string(minimal) + R"(
[[tools.webhook]]
name = "get_weather"
url = "https://h/weather/?key=sk-canary-1&units=metric&flag"
)")
                           .value();

    ASSERT_EQ(all.tools.webhooks.size(), 1U);
    EXPECT_EQ(all.tools.webhooks[0].url, "https://h/weather?key=sk-canary-1&units=metric&flag");
    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("'https://h/weather?key=***&units=***&flag'"), std::string::npos)
        << printed;
}

TEST_F(ConfigSecret, ReadsMcpServersAndNeverPrintsTheirSecrets) {
    const config all = load(std::string(minimal) + R"(
[[mcp_servers]]
name = "files"
url = "http://127.0.0.1:9001/mcp/?key=sk-canary-1"
headers = { X-Team = "sk-canary-2" }
header_env = { Authorization = "AGUI_TEST_KEY" }
ca_file = "own.pem"
pass_headers = ["Authorization"]
timeout_seconds = 5
[[mcp_servers]]
name = "local"
command = "npx"
args = ["-y", "sk-canary-3"]
cwd = "/tmp"
env_allow = ["AGUI_TEST_KEY", "AGUI_TEST_ABSENT"]
)")
                           .value();

    ASSERT_EQ(all.tools.mcp_servers.size(), 2U);
    const mcp_server_config& files = all.tools.mcp_servers[0];
    EXPECT_EQ(files.name, "files");
    EXPECT_EQ(files.url, "http://127.0.0.1:9001/mcp/?key=sk-canary-1");
    EXPECT_EQ(files.headers, (header_list{{"X-Team", "sk-canary-2"}}));
    EXPECT_EQ(files.secret_headers.at("Authorization").value, "sk-canary");
    EXPECT_EQ(files.ca_file, "own.pem");
    EXPECT_EQ(files.pass_headers, std::vector<std::string>{"authorization"});
    EXPECT_EQ(files.timeout, std::chrono::seconds(5));
    const mcp_server_config& local = all.tools.mcp_servers[1];
    EXPECT_EQ(local.command, "npx");
    EXPECT_EQ(local.args, (std::vector<std::string>{"-y", "sk-canary-3"}));
    EXPECT_EQ(local.cwd, "/tmp");
    EXPECT_EQ(local.environment, (header_list{{"AGUI_TEST_KEY", "sk-canary"}}));
    EXPECT_EQ(local.timeout, std::chrono::seconds(30));

    const std::string printed = print_config(all);
    EXPECT_EQ(printed.find("sk-canary"), std::string::npos) << printed;
    EXPECT_NE(printed.find("url = 'http://127.0.0.1:9001/mcp/?key=***'"), std::string::npos);
    EXPECT_NE(printed.find("AGUI_TEST_KEY"), std::string::npos);
    EXPECT_NE(printed.find("ca_file = 'own.pem'"), std::string::npos);
    EXPECT_NE(printed.find("pass_headers = [ 'authorization' ]"), std::string::npos);
    EXPECT_NE(printed.find("args = [ '***', '***' ]"), std::string::npos) << printed;
}

TEST(Config, ChecksMcpServers) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"url = \"http://h/mcp\"", "mcp_servers.name: is missing"},
        {"name = \"a__b\"\nurl = \"http://h/mcp\"", "mcp_servers.name: must be 1 to 32"},
        {"name = \"\"\nurl = \"http://h/mcp\"", "mcp_servers.name: must be 1 to 32"},
        {"name = \"a\"", "mcp_servers.url: either url or command is required, not both"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\ncommand = \"c\"\nargs = []",
         "mcp_servers.url: either url or command is required, not both"},
        {"name = \"a\"\nurl = \"files\"", "mcp_servers.url: must be an http://"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\ncwd = \"/\"", "mcp_servers.cwd: needs a command"},
        {"name = \"a\"\ncommand = \"c\"\nheaders = {}", "mcp_servers.headers: needs a url"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\npass_headers = [\"Host\"]",
         "mcp_servers.pass_headers: holds the name of a header that cannot be passed on"},
        {"name = \"a\"\nurl = \"http://h/mcp\"\npass_headers = [\"Mcp-Session-Id\"]",
         "mcp_servers.pass_headers: holds the name of a header that cannot be passed on"},
        {"name = \"a\"\ncommand = \"c\"\npass_headers = []", "mcp_servers.pass_headers: needs a url"
        },
        {"name = \"a\"\ncommand = \"c\"\nca_file = \"f\"", "mcp_servers.ca_file: needs a url"},
        {"name = \"a\"\ncommand = \"\"", "mcp_servers.command: must not be empty"},
        {"name = \"a\"\ncommand = \"c\"\nenv_allow = [\"A=B\"]", "mcp_servers.env_allow: must hold"
        },
        {"name = \"a\"\ncommand = \"c\"\ntimeout_seconds = 0",
         "mcp_servers.timeout_seconds: must be"},
        {"name = \"a\"\ncommand = \"c\"\nenv = {}", "mcp_servers.env: unknown key"},
        {"name = \"a\"\ncommand = \"c\"\n[[mcp_servers]]\nname = \"a\"\ncommand = \"c\"",
         "mcp_servers.name: is used twice"},
    };
    for (const auto& [text, expected] : cases) {
        SCOPED_TRACE(text);
        const std::string problem =
            problem_of(std::string(minimal) + "[[mcp_servers]]\n" + text + "\n");
        EXPECT_NE(problem.find(expected), std::string::npos) << problem;
    }
}

TEST(Config, ChecksToolNamesAndSchemas) {
    EXPECT_NE(
        problem_of(minimal, {"tools.external.0.name=mcp__x"}).find("tools.external.name"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"tools.external.0.name=t", "tools.external.0.parameters=[1]"})
            .find("parameters"),
        std::string::npos
    );
    EXPECT_NE(
        problem_of(minimal, {"tools.external.0.name=t", "tools.external.1.name=t"})
            .find("two tools have the name \"t\""),
        std::string::npos
    );
}

} // namespace
} // namespace agui::gateway
