// The callers' own credentials for webhooks and MCP servers, from a request to the tool's server.

#include "tests/gateway/server_fixture.hpp"
#include "tests/runner/http/http_test_server.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace agui::test {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using gateway::auth_config;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

/// A webhook at /hook and an MCP server at /mcp with the tool `echo`, on a thread of its own. Each
/// answers with the credentials that it was sent.
class tool_server {
public:
    tool_server() : thread_([this] { context_.run(); }) {}
    ~tool_server() {
        asio::post(context_, [this] { server_.close(); });
        work_.reset();
        thread_.join();
    }
    tool_server(const tool_server&) = delete;
    tool_server& operator=(const tool_server&) = delete;

    [[nodiscard]] std::string url(std::string_view path) const { return server_.url(path); }
    /// What each request has brought, as `METHOD credentials`, with the method of MCP or `hook`.
    [[nodiscard]] std::vector<std::string> seen() const {
        const std::lock_guard lock(mutex_);
        return seen_;
    }
    /// The same of calls alone.
    [[nodiscard]] std::vector<std::string> calls() const {
        std::vector<std::string> found = seen();
        std::erase_if(found, [](const std::string& each) {
            return !each.starts_with("hook ") && !each.starts_with("tools/call ");
        });
        return found;
    }
    void describe(std::string text) {
        const std::lock_guard lock(mutex_);
        description_ = std::move(text);
    }

private:
    static std::string credentials_of(const std::string& request) {
        const std::string name = "\r\nAuthorization: ";
        const std::size_t at = request.find(name);
        return at == std::string::npos
                   ? "none"
                   : request.substr(
                         at + name.size(), request.find("\r\n", at + 2) - at - name.size()
                     );
    }

    asio::awaitable<void> serve(server_connection& peer) {
        const std::string request = co_await peer.read_request();
        const std::string with = credentials_of(request);
        if (request.starts_with("POST /hook")) {
            note("hook " + with);
            co_await peer.send(response("called with " + with));
        } else if (request.starts_with("POST /mcp")) {
            const std::string body = request.substr(request.find("\r\n\r\n") + 4);
            const json::object message = json::parse(body).as_object();
            const std::string method(message.at("method").as_string());
            note(method + " " + with);
            if (!message.contains("id")) {
                co_await peer.send("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
                co_return;
            }
            const std::string text = json::serialize(json::object{
                {"jsonrpc", "2.0"}, {"id", message.at("id")}, {"result", result_of(method, with)}
            });
            co_await peer.send(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                std::to_string(text.size()) + "\r\n\r\n" + text
            );
        } else {
            co_await peer.send("HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n");
        }
    }

    json::value result_of(std::string_view method, std::string_view with) const {
        if (method == "initialize") {
            return {
                {"protocolVersion", "2025-06-18"}, {"capabilities", {{"tools", json::object()}}}
            };
        }
        if (method == "tools/list") {
            const std::lock_guard lock(mutex_);
            const json::object tool{
                {"name", "echo"},
                {"description", description_},
                {"inputSchema", {{"type", "object"}}}
            };
            return {{"tools", json::array{tool}}};
        }
        return {
            {"content",
             json::array{{{"type", "text"}, {"text", "called with " + std::string(with)}}}}
        };
    }

    void note(std::string what) {
        const std::lock_guard lock(mutex_);
        seen_.push_back(std::move(what));
    }

    mutable std::mutex mutex_;
    std::vector<std::string> seen_;
    std::string description_ = "Echoes.";
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ =
        asio::make_work_guard(context_);
    http_test_server server_{context_, [this](server_connection& peer) {
                                 return serve(peer);
                             }};
    std::thread thread_;
};

std::string token_of(std::string_view name) {
    return "Authorization: Bearer the-token-of-" + std::string(name) + "\r\n";
}

class CallerCredentials : public server_test {
protected:
    CallerCredentials() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        for (const std::string user : {"ada", "bob", "eve"}) {
            gateway::token_config& added = settings.auth->tokens.emplace_back();
            added.name = user;
            added.token.value = "the-token-of-" + user;
            added.scopes = {"run", "read", "approve"};
        }
        options.log = &log;
        options.script_of = [this](const gateway::model_config&) {
            return [this](const runner::transport_request& request) {
                const json::value last = json::parse(request.body).at("messages").as_array().back();
                const bool called = last.at("role") == "tool";
                return std::optional(called ? say("Done") : call_tool(tool.load()));
            };
        };
    }
    ~CallerCredentials() override { server.reset(); }

    static void add_user(
        gateway::caller_credentials_config& to, std::string_view user, std::string_view token
    ) {
        gateway::user_token_config& added = to.tokens.emplace_back();
        added.user = user;
        added.token.value = token;
    }
    gateway::mcp_server_config mcp_server() const {
        gateway::mcp_server_config made;
        made.name = "files";
        made.url = tools.url("/mcp");
        made.secret_headers["Authorization"].value = "Bearer of-the-gateway";
        return made;
    }
    gateway::webhook_config webhook() const {
        gateway::webhook_config made;
        made.definition.name = "hook";
        made.url = tools.url("/hook");
        return made;
    }
    raw_reply run_as(std::string_view who, std::string_view thread, std::string_view more = {}) {
        return ask(post(
            "/agui", run_body(thread, std::string(thread) + "-r"), token_of(who) + std::string(more)
        ));
    }
    static const std::string& refusal() {
        static const std::string text = "The tool was not called: it needs credentials of the user";
        return text;
    }

    memory_logger log;
    tool_server tools;
    std::atomic<const char*> tool = "mcp__files__echo";
};

TEST_F(CallerCredentials, OfAnMcpServerAreThoseOfTheUserWhoseRunItIs) {
    settings.tools.mcp_servers = {mcp_server()};
    add_user(settings.tools.mcp_servers[0].callers, "ada", "of-ada");
    add_user(settings.tools.mcp_servers[0].callers, "bob", "of-bob");
    start();

    EXPECT_THAT(run_as("ada", "t1").body, HasSubstr("called with Bearer of-ada"));
    EXPECT_THAT(run_as("bob", "t2").body, HasSubstr("called with Bearer of-bob"));
    EXPECT_THAT(run_as("eve", "t3").body, HasSubstr(refusal()));

    EXPECT_THAT(tools.calls(), ElementsAre("tools/call Bearer of-ada", "tools/call Bearer of-bob"));
    EXPECT_THAT(tools.seen(), Contains("tools/list Bearer of-the-gateway"));
    EXPECT_THAT(tools.seen(), Not(Contains(HasSubstr("the-token-of"))));
    EXPECT_THAT(log.lines(), Not(Contains(HasSubstr("of-ada"))));
}

TEST_F(CallerCredentials, OfManyUsersAtOnceAreNeverMixed) {
    settings.server.threads = 2;
    settings.tools.mcp_servers = {mcp_server()};
    for (const std::string_view user : {"ada", "bob", "eve"}) {
        add_user(settings.tools.mcp_servers[0].callers, user, "of-" + std::string(user));
    }
    start();
    constexpr int rounds = 10;
    std::array<int, 3> wrong{};
    std::vector<std::thread> users;
    const std::array<std::string, 3> names{"ada", "bob", "eve"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        users.emplace_back([&, i] {
            for (int round = 0; round < rounds; ++round) {
                const std::string thread = names[i] + std::to_string(round);
                const std::string body = run_as(names[i], thread).body;
                wrong[i] += body.find("called with Bearer of-" + names[i]) == std::string::npos;
            }
        });
    }
    for (std::thread& each : users) {
        each.join();
    }
    EXPECT_THAT(wrong, Each(0));
    EXPECT_EQ(tools.calls().size(), 30U);
}

TEST_F(CallerCredentials, OfASharedThreadAreTheSendersNotTheOwners) {
    settings.tools.webhooks = {webhook()};
    add_user(settings.tools.webhooks[0].callers, "ada", "of-ada");
    tool = "hook";
    start();
    EXPECT_THAT(run_as("ada", "t").body, HasSubstr("called with Bearer of-ada"));
    std::string opening = post(
        "/agui/threads/t/access", R"({"access":[{"user":"eve","rights":"write"}]})", token_of("ada")
    );
    const raw_reply opened = ask(opening.replace(0, 4, "PATCH"));
    ASSERT_EQ(opened.status, 200) << opened.body;
    const std::string shared(json::parse(opened.body).at("sharedId").as_string());

    const raw_reply run = ask(post("/agui", run_body(shared, "r2"), token_of("eve")));

    EXPECT_THAT(run.body, HasSubstr(refusal()));
    EXPECT_THAT(tools.calls(), ElementsAre("hook Bearer of-ada"));
}

TEST_F(CallerCredentials, MayComeWithTheRequest) {
    settings.tools.mcp_servers = {mcp_server()};
    settings.tools.mcp_servers[0].callers.from = "x-files-token";
    start();

    EXPECT_THAT(
        run_as("ada", "t1", "X-Files-Token: fresh\r\n").body, HasSubstr("called with Bearer fresh")
    );
    EXPECT_THAT(run_as("ada", "t2").body, HasSubstr(refusal()));
    EXPECT_THAT(tools.calls(), ElementsAre("tools/call Bearer fresh"));
    EXPECT_THAT(log.lines(), Not(Contains(HasSubstr("fresh"))));
}

TEST_F(CallerCredentials, OfAnApprovedCallAreThoseOfTheRequestThatApprovesIt) {
    settings.tools.webhooks = {webhook()};
    settings.tools.webhooks[0].approval = runner::approval_rule::always;
    settings.tools.webhooks[0].callers.from = "x-hook-token";
    tool = "hook";
    start();
    const auto approve = [this](const std::string& thread, std::string_view more) {
        (void)run_as("ada", thread, "X-Hook-Token: first\r\n");
        const std::string path = "/agui/threads/" + thread + "/pending";
        const json::value pending = json::parse(ask(get(path, token_of("ada"))).body);
        const json::object answer{
            {"interruptId", pending.at("interrupts").at(0).at("id")},
            {"status", "resolved"},
            {"payload", {{"approved", true}}}
        };
        const json::object body{
            {"threadId", thread},
            {"runId", thread + "-r2"},
            {"messages", json::array()},
            {"resume", json::array{answer}}
        };
        return ask(post("/agui", json::serialize(body), token_of("ada") + std::string(more))).body;
    };

    EXPECT_THAT(approve("t1", ""), HasSubstr(refusal()));
    EXPECT_THAT(approve("t2", "X-Hook-Token: fresh\r\n"), HasSubstr("called with Bearer fresh"));
    EXPECT_THAT(tools.calls(), ElementsAre("hook Bearer fresh"));
}

TEST_F(CallerCredentials, AreRereadOnReload) {
    settings.tools.mcp_servers = {mcp_server()};
    add_user(settings.tools.mcp_servers[0].callers, "ada", "of-ada");
    start();
    EXPECT_THAT(run_as("ada", "t1").body, HasSubstr("called with Bearer of-ada"));

    gateway::config fresh = settings;
    fresh.tools.mcp_servers[0].callers.tokens[0].token.value = "newer";
    EXPECT_TRUE(server->reload(fresh));
    EXPECT_THAT(run_as("ada", "t2").body, HasSubstr("called with Bearer newer"));

    fresh.tools.mcp_servers[0].callers.tokens.clear();
    EXPECT_TRUE(server->reload(fresh));
    EXPECT_THAT(run_as("ada", "t3").body, HasSubstr(refusal())) << "until a restart";
    EXPECT_EQ(tools.calls().size(), 2U);
}

TEST_F(CallerCredentials, ComeBackByAReload) {
    settings.tools.mcp_servers = {mcp_server()};
    add_user(settings.tools.mcp_servers[0].callers, "ada", "of-ada");
    start();
    gateway::config fresh = settings;
    fresh.tools.mcp_servers[0].callers.tokens.clear();
    EXPECT_TRUE(server->reload(fresh));
    EXPECT_THAT(run_as("ada", "t1").body, HasSubstr(refusal()));

    EXPECT_TRUE(server->reload(settings));

    EXPECT_THAT(run_as("ada", "t2").body, HasSubstr("called with Bearer of-ada"));
    EXPECT_THAT(log.lines(), Not(Contains(HasSubstr("was not reloaded"))));
}

TEST_F(CallerCredentials, OfAnEmptyListComeByAReload) {
    settings.tools.mcp_servers = {mcp_server()};
    settings.tools.mcp_servers[0].callers.lists_tokens = true;
    start();
    EXPECT_THAT(run_as("ada", "t1").body, HasSubstr(refusal())) << "no user has a token";

    gateway::config fresh = settings;
    add_user(fresh.tools.mcp_servers[0].callers, "ada", "of-ada");
    EXPECT_TRUE(server->reload(fresh));

    EXPECT_THAT(run_as("ada", "t2").body, HasSubstr("called with Bearer of-ada"));
    EXPECT_THAT(tools.calls(), ElementsAre(HasSubstr("of-ada")));
}

TEST_F(CallerCredentials, EndWithTheServerForWhichTheyWere) {
    settings.tools.mcp_servers = {mcp_server()};
    settings.tools.webhooks = {webhook()};
    add_user(settings.tools.mcp_servers[0].callers, "ada", "of-ada");
    add_user(settings.tools.webhooks[0].callers, "ada", "of-ada");
    start();
    gateway::config fresh = settings;
    fresh.tools.mcp_servers[0].url = tools.url("/other");
    fresh.tools.webhooks.clear();

    EXPECT_TRUE(server->reload(fresh));

    EXPECT_THAT(run_as("ada", "t1").body, HasSubstr(refusal()));
    tool = "hook";
    EXPECT_THAT(run_as("ada", "t2").body, HasSubstr(refusal()));
    EXPECT_THAT(tools.calls(), IsEmpty());
    EXPECT_THAT(
        log.lines(), IsSupersetOf(
                         {HasSubstr("mcp_servers.files: needs a restart"),
                          HasSubstr("tools.webhook.hook: needs a restart")}
                     )
    );
}

TEST_F(CallerCredentials, AreNotIntroducedByAReloadWhichTakesTheRest) {
    settings.tools.webhooks = {webhook()};
    settings.tools.mcp_servers = {mcp_server()};
    start();
    gateway::config fresh = settings;
    add_user(fresh.tools.webhooks[0].callers, "ada", "of-ada");
    add_user(fresh.tools.mcp_servers[0].callers, "ada", "of-ada");
    std::erase_if(fresh.auth->tokens, [](const auto& each) { return each.name == "eve"; });

    EXPECT_TRUE(server->reload(fresh));

    EXPECT_EQ(run_as("eve", "t1").status, 401) << "her token is revoked";
    EXPECT_THAT(run_as("ada", "t2").body, HasSubstr("called with Bearer of-the-gateway"));
    EXPECT_THAT(
        log.lines(),
        IsSupersetOf(
            {HasSubstr("mcp_servers.files.user_tokens: needs a restart, because there were none"),
             HasSubstr("tools.webhook.hook.user_tokens: needs a restart, because there were none")}
        )
    );
}

TEST_F(CallerCredentials, ADigestIsAcceptedByReload) {
    settings.tools.mcp_servers = {mcp_server()};
    settings.tools.mcp_servers[0].digest = std::string(64, '0');
    start();
    EXPECT_THAT(run_as("ada", "t1").body, Not(HasSubstr("called with")));
    std::string digest;
    for (const std::string& line : log.lines()) {
        if (const std::size_t at = line.find(" found="); at != std::string::npos) {
            digest = line.substr(at + 7, 64);
        }
    }
    ASSERT_EQ(digest.size(), 64U);

    gateway::config fresh = settings;
    fresh.tools.mcp_servers[0].digest = digest;
    fresh.tools.mcp_servers[0].url = "http://127.0.0.1:1/other";
    EXPECT_TRUE(server->reload(fresh)) << "it is another server's";
    EXPECT_THAT(run_as("ada", "t2").body, Not(HasSubstr("called with")));

    fresh.tools.mcp_servers[0].url = settings.tools.mcp_servers[0].url;
    EXPECT_TRUE(server->reload(fresh));
    int tries = 0;
    std::string body;
    while (body.find("called with") == std::string::npos && ++tries < 1000) {
        body = run_as("ada", "t3-" + std::to_string(tries)).body;
    }
    EXPECT_THAT(body, HasSubstr("called with Bearer of-the-gateway"));
}

} // namespace
} // namespace agui::test
