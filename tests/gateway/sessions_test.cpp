// Sessions of browsers: a cookie in place of a token.

#include "tests/gateway/auth/token_maker.hpp"
#include "tests/gateway/server_fixture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace agui::test {
namespace {

using gateway::auth_config;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string own_origin = "Origin: http://localhost\r\n";

std::string with_token(std::string_view token) {
    return "Authorization: Bearer " + std::string(token) + "\r\n";
}

/// The header with which a browser sends the cookie that the reply sets.
std::string cookie_of(const raw_reply& reply) {
    const std::string set = reply.header("set-cookie");
    return "Cookie: a=b; " + set.substr(0, set.find(';')) + "\r\n";
}

class Sessions : public server_test {
protected:
    Sessions() {
        settings.auth.emplace();
        settings.auth->kind = auth_config::mode::bearer;
        settings.auth->tokens = {token_of("ada"), token_of("eve")};
        settings.auth->session.enabled = true;
        options.log = &log;
        again = options;
    }
    ~Sessions() override { server.reset(); }

    static gateway::token_config token_of(const std::string& user) {
        gateway::token_config token;
        token.name = user;
        token.token.value = "the-token-of-" + user;
        token.scopes = {"run", "read", "delete", "approve"};
        return token;
    }
    /// As another process with the same configuration.
    void start_again() {
        options = again;
        start();
    }
    raw_reply log_in(std::string_view headers) const {
        return ask(
            "POST /agui/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" +
            std::string(headers) + "\r\n"
        );
    }
    std::string session_of(const std::string& user) const {
        const raw_reply begun = log_in(with_token("the-token-of-" + user));
        EXPECT_EQ(begun.status, 200) << begun.body;
        return cookie_of(begun);
    }

    memory_logger log;
    gateway::server_options again;
};

TEST_F(Sessions, BeginWithAToken) {
    start();

    const raw_reply begun = log_in(with_token("the-token-of-ada"));

    ASSERT_EQ(begun.status, 200);
    EXPECT_THAT(
        begun.header("set-cookie"),
        AllOf(StartsWith("agui-session="), HasSubstr("; HttpOnly; SameSite=Lax"))
    );
    const auto body = boost::json::parse(begun.body);
    EXPECT_EQ(body.at("user"), "ada");
    EXPECT_EQ(body.at("scopes").as_array().size(), 4U);
    EXPECT_GT(body.at("expires").as_int64(), 0);
    EXPECT_EQ(begun.header("cache-control"), "no-store");
    EXPECT_THAT(log.lines(), Each(Not(HasSubstr(cookie_of(begun).substr(20, 40)))));
}

TEST_F(Sessions, OpenTheThreadsOfTheirUser) {
    start();
    const std::string ada = session_of("ada");
    const std::string eve = session_of("eve");

    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), ada + own_origin)).status, 200);

    EXPECT_THAT(ask(get("/agui/threads/t/messages", ada)).body, HasSubstr("hello"));
    EXPECT_THAT(ask(get("/agui/threads/t/runs/r/events", ada)).body, HasSubstr("RUN_FINISHED"))
        << "as an EventSource";
    EXPECT_THAT(ask(get("/agui/threads/t/messages", eve)).body, Not(HasSubstr("hello")));
    EXPECT_EQ(ask(get("/agui/threads/t/messages")).status, 401);
}

TEST_F(Sessions, NeedTheOwnOriginForUnsafeMethods) {
    settings.server.cors_origins = {"https://page.example"};
    settings.server.public_url = "https://public.example/chat";
    start();
    const std::string ada = session_of("ada");
    int number = 0;
    const auto asks = [&](const std::string& origin) {
        return ask(post("/agui", run_body("t", "r" + std::to_string(++number)), ada + origin));
    };

    for (const char* right :
         {"https://localhost", "https://page.example", "https://public.example"}) {
        EXPECT_EQ(asks("Origin: " + std::string(right) + "\r\n").status, 200) << right;
    }
    EXPECT_EQ(asks("Origin: http://localhost\r\n").status, 403) << "clients are told https";
    const raw_reply missing = asks("");
    EXPECT_EQ(missing.status, 403);
    EXPECT_THAT(missing.body, HasSubstr("needs an Origin"));
    EXPECT_EQ(asks("Origin: null\r\n").status, 403);
    const raw_reply other = asks("Origin: http://evil.example\r\n");
    EXPECT_EQ(other.status, 403);
    EXPECT_THAT(other.body, HasSubstr("server.cors_origins"));
    EXPECT_THAT(log.lines(), Contains(HasSubstr("origin=http://evil.example")));
    EXPECT_EQ(
        ask(post(
                "/agui", run_body("t", "x"),
                with_token("the-token-of-ada") + ada + "Origin: http://evil.example\r\n"
            ))
            .status,
        200
    ) << "a token needs no Origin";
}

TEST_F(Sessions, OnThisMachineHaveACookieForPlainHttpOnly) {
    start();
    const std::string ada = session_of("ada");
    const auto asks = [&](std::string_view origin) {
        const std::string header = "Origin: " + std::string(origin) + "\r\n";
        return ask(post("/agui", run_body("t", "r"), ada + header)).status;
    };
    EXPECT_EQ(asks("http://localhost"), 200);
    EXPECT_EQ(asks("https://localhost"), 401) << "only the Secure cookie is one";
}

TEST_F(Sessions, BehindAProxyAreSecure) {
    settings.server.trusted_proxies = {"127.0.0.1"};
    start();
    const std::string proxied = "X-Forwarded-Proto: https\r\nX-Forwarded-Host: "
                                "app.example\r\nOrigin: https://app.example\r\n";

    const raw_reply begun = log_in(with_token("the-token-of-ada") + proxied);

    ASSERT_EQ(begun.status, 200);
    EXPECT_THAT(
        begun.header("set-cookie"), AllOf(StartsWith("__Host-agui-session="), HasSubstr("; Secure"))
    );
    const std::string ada = cookie_of(begun);
    EXPECT_EQ(ask(post("/agui", run_body("t", "r"), ada + proxied)).status, 200);
    EXPECT_EQ(
        ask(post(
                "/agui", run_body("t", "q"),
                ada + "X-Forwarded-Host: app.example\r\nOrigin: http://app.example\r\n"
            ))
            .status,
        403
    );
}

TEST_F(Sessions, DoNotReplaceAWrongToken) {
    start();
    const std::string ada = session_of("ada");

    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 200);
    EXPECT_EQ(ask(get("/agui/threads", ada + with_token("wrong"))).status, 401);
    EXPECT_EQ(ask(get("/agui/threads", ada + "Authorization: Basic eA==\r\n")).status, 401);
}

TEST_F(Sessions, EndInTheBrowser) {
    start();
    const std::string ada = session_of("ada");
    const auto log_out = [this](const std::string& headers) {
        return ask("DELETE /agui/session HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n");
    };

    const raw_reply ended = log_out(ada + own_origin);

    EXPECT_EQ(ended.status, 204);
    EXPECT_THAT(ended.header("set-cookie"), HasSubstr("agui-session=; Path=/; Max-Age=0"));
    EXPECT_EQ(log_out("").status, 204) << "also without one";
    EXPECT_EQ(log_out(ada).status, 403) << "no page of another site may end it";
    EXPECT_EQ(log_out(ada + "Origin: https://evil.example\r\n").status, 403);
}

TEST_F(Sessions, AreNotBegunByPagesOfOthers) {
    start();
    const raw_reply refused =
        log_in(with_token("the-token-of-eve") + "Origin: https://evil.example\r\n");

    EXPECT_EQ(refused.status, 403);
    EXPECT_EQ(refused.header("set-cookie"), "");
    EXPECT_EQ(log_in("").status, 401);
    EXPECT_EQ(log_in(with_token("wrong")).status, 401);
}

TEST_F(Sessions, AreProlongedByTheirCookieUntilTheTokenExpires) {
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    settings.auth->tokens.front().expires_at = now + 600'000;
    start();
    const std::string ada = session_of("ada");

    const raw_reply again = log_in(ada + own_origin);

    ASSERT_EQ(again.status, 200);
    EXPECT_EQ(boost::json::parse(again.body).at("expires"), now + 600'000);
    EXPECT_EQ(ask(get("/agui/threads", cookie_of(again))).status, 200);
}

TEST_F(Sessions, EndWithARevokedToken) {
    start();
    const std::string ada = session_of("ada");
    const std::string eve = session_of("eve");
    gateway::config fresh = settings;
    fresh.auth->tokens.erase(fresh.auth->tokens.begin());

    ASSERT_TRUE(server->reload(fresh));

    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 401);
    EXPECT_EQ(ask(get("/agui/threads", eve)).status, 200) << "the secret is still the same";
    fresh.auth->session.key.value = std::string(32, 'k');
    ASSERT_TRUE(server->reload(fresh));
    EXPECT_EQ(ask(get("/agui/threads", eve)).status, 401) << "another secret ends all sessions";
    fresh.auth->session.enabled = false;
    ASSERT_TRUE(server->reload(fresh));
    EXPECT_EQ(log_in(with_token("the-token-of-eve")).status, 404);
}

TEST_F(Sessions, OfOneGatewayHoldInAnother) {
    settings.auth->session.key.value = std::string(32, 'k');
    start();
    const std::string ada = session_of("ada");

    start_again();

    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 200);
}

TEST_F(Sessions, OfARandomSecretEndWithTheProcess) {
    start();
    const std::string ada = session_of("ada");

    start_again();

    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 401);
}

TEST_F(Sessions, TooLargeForACookieAreRefused) {
    for (int i = 0; i < 150; ++i) {
        settings.auth->tokens.front().scopes.push_back(
            "agents:an-agent-with-a-long-name-" + std::to_string(i) + ":run"
        );
    }
    start();

    const raw_reply refused = log_in(with_token("the-token-of-ada"));

    EXPECT_EQ(refused.status, 422);
    EXPECT_THAT(refused.body, HasSubstr("4 KB"));
    EXPECT_EQ(refused.header("set-cookie"), "");
}

TEST_F(Sessions, LetListedPagesSendTheirCookie) {
    settings.server.cors_origins = {"https://page.example"};
    start();
    const std::string listed = "Origin: https://page.example\r\n";
    const auto credentials = [this](const std::string& headers) {
        return ask(get("/agui/threads", headers)).header("access-control-allow-credentials");
    };

    EXPECT_EQ(credentials(listed), "true");
    EXPECT_EQ(credentials("Origin: https://evil.example\r\n"), "");
    gateway::config fresh = settings;
    fresh.auth->session.enabled = false;
    ASSERT_TRUE(server->reload(fresh));
    EXPECT_EQ(credentials(listed), "");
}

TEST_F(Sessions, AreOffUnlessSwitchedOn) {
    settings.auth->session.enabled = false;
    start();

    EXPECT_EQ(log_in(with_token("the-token-of-ada")).status, 404);
    EXPECT_EQ(log_in("").status, 404);
    EXPECT_EQ(ask("DELETE /agui/session HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 404);
}

TEST_F(Sessions, NeedCredentials) {
    settings.auth->tokens.clear();
    settings.auth->kind = auth_config::mode::none;
    start();
    EXPECT_EQ(log_in("").status, 404) << "there is nothing to turn into a cookie";
}

TEST_F(Sessions, OfAProxyDoNotExist) {
    settings.auth->tokens.clear();
    settings.auth->kind = auth_config::mode::proxy;
    settings.server.trusted_proxies = {"127.0.0.1"};
    start();
    EXPECT_EQ(log_in("X-Forwarded-User: ada\r\n").status, 404);
}

TEST_F(Sessions, BeginWithAJwt) {
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    const token_maker maker(gateway::jws_algorithm::es256, "one");
    settings.auth->tokens.clear();
    settings.auth->kind = auth_config::mode::jwt;
    settings.auth->jwks = maker.jwks();
    settings.auth->issuer = "https://id.example";
    settings.auth->audience = {"agui"};
    settings.auth->session.life = hours(24);
    start();
    const raw_reply begun = log_in(with_token(maker.token(claims_of("ada", now))));

    ASSERT_EQ(begun.status, 200) << begun.body;
    EXPECT_LE(boost::json::parse(begun.body).at("expires").as_int64(), now + 3'630'000)
        << "it ends with the token, which has half a minute of leeway";
    const std::string ada = cookie_of(begun);
    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 200);
    gateway::config fresh = settings;
    fresh.auth->leeway = seconds(1);
    ASSERT_TRUE(server->reload(fresh));
    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 200);
    fresh.auth->audience = {"another"};
    ASSERT_TRUE(server->reload(fresh));
    EXPECT_EQ(ask(get("/agui/threads", ada)).status, 401) << "its token would be refused, too";
}

} // namespace
} // namespace agui::test
