// Several users of one server: each sees only its own threads.

#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>

#include <string>
#include <string_view>

namespace agui::test {
namespace {

using gateway::auth_config;
using ::testing::HasSubstr;
using ::testing::Not;

std::string as(std::string_view user) {
    return "Authorization: Bearer the-token-of-" + std::string(user) + "\r\n";
}

class Users : public server_test {
protected:
    Users() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        settings.auth->tokens = {token_of("ada"), token_of("eve")};
        options.log = &log;
    }
    ~Users() override { server.reset(); }

    static gateway::token_config token_of(const std::string& user) {
        gateway::token_config token;
        token.name = user;
        token.token.value = "the-token-of-" + user;
        token.scopes = {"run", "read", "delete", "approve"};
        return token;
    }
    void use_proxy() {
        settings.auth->tokens.clear();
        settings.auth->kind = auth_config::mode::proxy;
        settings.auth->scopes = {"run", "read"};
    }
    std::size_t threads_of(std::string_view user) {
        const raw_reply reply = ask(get("/agui/threads", as(user)));
        EXPECT_EQ(reply.status, 200);
        return boost::json::parse(reply.body).at("threads").as_array().size();
    }

    memory_logger log;
};

TEST_F(Users, SeeTheirOwnThreads) {
    start();
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), as("ada"))).status, 200);

    EXPECT_EQ(threads_of("ada"), 1U);
    EXPECT_EQ(threads_of("eve"), 0U);
    const std::string messages = "/agui/threads/t/messages";
    EXPECT_THAT(ask(get(messages, as("ada"))).body, HasSubstr("hello"));
    EXPECT_THAT(ask(get(messages, as("eve"))).body, Not(HasSubstr("hello")));
    EXPECT_EQ(ask(get(messages)).status, 401);
    // The same ids are another thread and another run.
    EXPECT_EQ(ask(post("/agui", run_body("t", "r", "other"), as("eve"))).status, 200);
    EXPECT_THAT(ask(get(messages, as("ada"))).body, Not(HasSubstr("other")));
}

TEST_F(Users, AReloadAddsAndRevokesTokens) {
    start();
    EXPECT_EQ(threads_of("ada"), 0U);
    gateway::config fresh = settings;
    fresh.auth->tokens = {token_of("eve"), token_of("bob")};

    EXPECT_TRUE(server->reload(fresh));

    EXPECT_EQ(ask(get("/agui/threads", as("ada"))).status, 401);
    EXPECT_EQ(threads_of("eve"), 0U);
    EXPECT_EQ(threads_of("bob"), 0U);
}

TEST_F(Users, OfAProxyAreNotBelievedFromElsewhere) {
    use_proxy();
    settings.server.trusted_proxies = {"10.0.0.1"};
    start();

    const raw_reply refused = ask(get("/agui/threads", "X-Forwarded-User: ada\r\n"));
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.header("www-authenticate"), "") << "no token would help";
}

TEST_F(Users, OfAProxyHaveTheirOwnThreads) {
    use_proxy();
    settings.server.trusted_proxies = {"127.0.0.0/8"};
    start();
    const std::string ada = "X-Forwarded-User: ada\r\n";
    const std::string eve = "X-Forwarded-User: eve\r\n";
    const std::string messages = "/agui/threads/t/messages";

    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), ada)).status, 200);
    EXPECT_THAT(ask(get(messages, ada)).body, HasSubstr("hello"));
    EXPECT_THAT(ask(get(messages, eve)).body, Not(HasSubstr("hello")));
    EXPECT_EQ(ask(get(messages)).status, 401);
    EXPECT_EQ(ask(get(messages, ada + eve)).status, 401);
}

} // namespace
} // namespace agui::test
