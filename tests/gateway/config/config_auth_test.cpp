// [auth]: its modes and their keys.

#include "tests/gateway/config/config_fixture.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using test::ConfigSecret;
using test::load;
using test::minimal;
using test::problem_of;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigAuth : public ConfigSecret {
protected:
    /// The path of a file that only its owner may read.
    std::string secret_file(const std::string& name, const std::string& content) {
        const std::string path = write(name, content);
        using std::filesystem::perms;
        std::filesystem::permissions(path, perms::owner_read | perms::owner_write);
        return path;
    }
    std::vector<std::string> with_token(std::vector<std::string> more) {
        std::vector<std::string> all{
            "auth.mode=bearer", "auth.tokens.0.name=ada",
            "auth.tokens.0.token_file=" + secret_file("ada", "the-token-of-ada")
        };
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
};

TEST_F(ConfigAuth, TokensHaveUsers) {
    const auto all = load(
        minimal, with_token(
                     {"auth.tokens.0.tenant=acme", "auth.tokens.0.scopes=[\"run\",\"read\"]",
                      "auth.tokens.0.expires=\"2027-01-31T08:00:05Z\""}
                 )
    );

    ASSERT_TRUE(all) << all.error().lines.front();
    const token_config& token = all->auth->tokens.at(0);
    EXPECT_EQ(token.name, "ada");
    EXPECT_EQ(token.tenant, "acme");
    EXPECT_EQ(token.token.value, "the-token-of-ada");
    EXPECT_THAT(token.scopes, ElementsAre("run", "read"));
    EXPECT_EQ(token.expires_at, 1'801'382'405'000);
    EXPECT_THAT(print_config(*all), HasSubstr("expires = '2027-01-31T08:00:05Z'"));
}

TEST_F(ConfigAuth, ATokenExpiresAtTheBeginOfADay) {
    const auto expires = [this](const std::string& text) {
        const auto all = load(minimal, with_token({"auth.tokens.0.expires=" + text}));
        return all ? all->auth->tokens.at(0).expires_at : std::nullopt;
    };
    EXPECT_EQ(expires("\"2027-01-31\""), 1'801'353'600'000);
    EXPECT_EQ(expires("\"2028-02-29\""), 1'835'395'200'000);
    for (const char* wrong :
         {"\"2027-02-29\"", "\"2027-13-01\"", "\"tomorrow\"", "\"2027-01-31T08:00:00\"",
          "\"2027-01-31T24:00:00Z\"", "\"2027-1-31\"", "\"2027-01-3x\""}) {
        EXPECT_EQ(expires(wrong), std::nullopt) << wrong;
        EXPECT_FALSE(load(minimal, with_token({std::string("auth.tokens.0.expires=") + wrong})));
    }
}

TEST_F(ConfigAuth, ATokenNeedsAUserAndASecretOfItsOwn) {
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=bearer", "auth.tokens.0.name=ada"}),
        HasSubstr("auth.tokens.token_file: is missing")
    );
    EXPECT_THAT(
        problem_of(minimal, with_token({"auth.tokens.0.name=\"\""})),
        HasSubstr("auth.tokens.name: is missing")
    );
    EXPECT_THAT(
        problem_of(minimal, with_token({"auth.tokens.0.scopes=[\"fly\"]"})),
        HasSubstr("auth.tokens.scopes: holds \"fly\"")
    );
    EXPECT_THAT(
        problem_of(
            minimal, with_token(
                         {"auth.tokens.1.name=eve",
                          "auth.tokens.1.token_file=" + write("eve", "the-token-of-ada")}
                     )
        ),
        HasSubstr("auth.tokens: \"eve\" has the same token as another one")
    );
}

TEST_F(ConfigAuth, KeysOfAnotherModeAreErrors) {
    EXPECT_THAT(
        problem_of(minimal, with_token({"auth.user_header=X-User"})),
        HasSubstr("auth.user_header: needs mode = \"proxy\"")
    );
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=proxy", "auth.token_env=AGUI_TEST_KEY"}),
        HasSubstr("needs mode = \"bearer\"")
    );
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=proxy", "auth.user_header=\"X User\""}),
        HasSubstr("auth.user_header: must be the name of an HTTP header")
    );
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=proxy", "auth.group_scopes.staff=fly"}),
        HasSubstr("the group \"staff\" the unknown scope \"fly\"")
    );
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=proxy", "auth.group_scopes.staff=\"run reed\""}),
        HasSubstr("the unknown scope \"reed\"")
    );
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=proxy", "auth.group_scopes.staff=\" \""}),
        HasSubstr("gives no scope to the group \"staff\"")
    );
}

TEST_F(ConfigAuth, JwtNeedsAnIssuerItsKeysAndAnAudience) {
    const std::string rsa =
        R"({"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]})";
    const auto with = [](std::vector<std::string> more) {
        std::vector<std::string> all{"auth.mode=jwt"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const std::string issuer = "auth.issuer=https://id.example";
    const std::string url = "auth.jwks_url=https://id.example/keys";
    const std::string file = "auth.jwks_file=" + write("keys", rsa);
    const std::string audience = "auth.audience=agui";

    const auto one = load(minimal, with({issuer, url, audience}));
    ASSERT_TRUE(one) << one.error().lines.front();
    EXPECT_THAT(one->auth->audience, ElementsAre("agui"));
    const auto all = load(minimal, with({issuer, file, "auth.audience=[\"a\",\"b\"]"}));
    ASSERT_TRUE(all) << all.error().lines.front();
    EXPECT_THAT(all->auth->audience, ElementsAre("a", "b"));
    EXPECT_EQ(all->auth->jwks, rsa);
    EXPECT_THAT(problem_of(minimal, with({issuer, audience})), HasSubstr("auth.jwks_url: set"));
    EXPECT_THAT(
        problem_of(minimal, with({issuer, audience, url, file})), HasSubstr("auth.jwks_url: set")
    );
    EXPECT_THAT(problem_of(minimal, with({url, audience})), HasSubstr("auth.issuer: is missing"));
    EXPECT_THAT(problem_of(minimal, with({url, issuer})), HasSubstr("auth.audience: is missing"));
    EXPECT_THAT(
        problem_of(
            minimal, with({issuer, audience, "auth.jwks_file=" + write("bad", R"({"keys":[]})")})
        ),
        HasSubstr("auth.jwks_file: the file holds no")
    );
    EXPECT_THAT(
        problem_of(minimal, with({issuer, audience, "auth.jwks_file=/nowhere/keys"})),
        HasSubstr("auth.jwks_file: cannot be read")
    );
    using std::filesystem::perms;
    const std::string open = write("open", rsa);
    std::filesystem::permissions(open, perms::others_write, std::filesystem::perm_options::add);
    EXPECT_THAT(
        problem_of(minimal, with({issuer, audience, "auth.jwks_file=" + open})),
        HasSubstr("auth.jwks_file: every user of this machine can change the file")
    );
    EXPECT_THAT(
        problem_of(minimal, with({url, issuer, audience, "auth.algorithms=[\"HS256\"]"})),
        HasSubstr("auth.algorithms: must hold some of")
    );
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=bearer", "auth.token_env=AGUI_TEST_KEY", url}),
        HasSubstr("auth.jwks_url: needs mode = \"jwt\"")
    );
}

TEST_F(ConfigAuth, WarnsOfSettingsThatLetNobodyIn) {
    const auto warnings = [](const std::vector<std::string>& overrides) {
        const auto all = load(minimal, overrides);
        return all ? warnings_of(*all) : all.error().lines;
    };
    EXPECT_THAT(
        warnings(with_token({})),
        ElementsAre("auth.tokens[ada]: without scopes, the token opens nothing")
    );
    EXPECT_THAT(
        warnings({"auth.mode=proxy"}),
        ElementsAre(HasSubstr("no server.trusted_proxies"), HasSubstr("auth.scopes: without"))
    );
    EXPECT_THAT(
        warnings(
            {"auth.mode=proxy", "server.trusted_proxies=[\"10.0.0.1\"]", "auth.scopes=[\"run\"]"}
        ),
        ElementsAre()
    );
    for (const char* all : {"0.0.0.0/0", "::/0"}) {
        EXPECT_THAT(
            warnings(
                {"auth.mode=proxy", "auth.scopes=[\"run\"]",
                 "server.trusted_proxies=[\"10.0.0.1\",\"" + std::string(all) + "\"]"}
            ),
            ElementsAre(HasSubstr("every client can name itself any user"))
        );
    }
    const auto of_url = [&](const std::string& url) {
        return warnings(
            {"auth.mode=jwt", "auth.issuer=https://id.example", "auth.audience=agui",
             "auth.jwks_url=" + url}
        );
    };
    EXPECT_THAT(of_url("https://id.example/keys"), ElementsAre());
    EXPECT_THAT(of_url("http://127.0.0.1:8081/keys"), ElementsAre());
    EXPECT_THAT(of_url("http://localhost/keys"), ElementsAre());
    for (const char* others : {"http://localhost.example/keys", "http://id.example/keys"}) {
        EXPECT_THAT(of_url(others), ElementsAre(HasSubstr("auth.jwks_url: must begin with https")));
    }
    EXPECT_THAT(
        warnings(with_token(
            {"auth.tokens.0.scopes=[\"run\"]",
             "auth.tokens.0.token_file=" + secret_file("short", "short")}
        )),
        ElementsAre(HasSubstr("auth.tokens[ada].token_file: the token has fewer than 16"))
    );
}

TEST_F(ConfigAuth, SessionsAreOffByDefault) {
    const auto all = load(minimal, with_token({}));

    ASSERT_TRUE(all);
    EXPECT_EQ(all->auth->session, auth_session_config());
    EXPECT_FALSE(all->auth->session.enabled);
    EXPECT_EQ(all->auth->session.life, std::chrono::hours(1));
    EXPECT_EQ(all->auth->session.site, same_site::lax);
}

TEST_F(ConfigAuth, SessionsHaveASecretOf32Bytes) {
    const std::string file = secret_file("session", std::string(32, 'k') + "\n");
    const auto all = load(
        minimal, with_token(
                     {"auth.session.enabled=true", "auth.session.secret_file=" + file,
                      "auth.session.seconds=86400", "auth.session.same_site=none"}
                 )
    );
    ASSERT_TRUE(all) << all.error().lines.front();
    EXPECT_EQ(all->auth->session.key.value, std::string(32, 'k'));
    EXPECT_EQ(all->auth->session.life, std::chrono::hours(24));
    EXPECT_EQ(all->auth->session.site, same_site::none);
    EXPECT_THAT(print_config(*all), Not(HasSubstr("kkkk")));

    EXPECT_THAT(
        problem_of(
            minimal,
            with_token({"auth.session.secret_file=" + secret_file("short", std::string(31, 'k'))})
        ),
        HasSubstr("auth.session.secret_file: must hold at least 32 bytes")
    );
    EXPECT_THAT(
        problem_of(minimal, with_token({"auth.session.secret_env=AGUI_TEST_KEY"})),
        HasSubstr("auth.session.secret_env: must hold at least 32 bytes")
    );
}

TEST_F(ConfigAuth, SessionsWithoutASecretOfTheirOwnAreWarnedOf) {
    const auto all = load(minimal, with_token({"auth.session.enabled=true"}));

    ASSERT_TRUE(all);
    EXPECT_THAT(
        warnings_of(*all), Contains(HasSubstr("auth.session: without secret_env or secret_file"))
    );
}

TEST_F(ConfigAuth, SessionsNeedTokens) {
    EXPECT_THAT(
        problem_of(minimal, {"auth.mode=none", "auth.session.enabled=true"}),
        HasSubstr("auth.session: needs mode = \"bearer\" or \"jwt\"")
    );
    EXPECT_THAT(
        problem_of(minimal, with_token({"auth.session.seconds=86401"})),
        HasSubstr("auth.session.seconds")
    );
    EXPECT_THAT(
        problem_of(minimal, with_token({"auth.session.same_site=maybe"})),
        HasSubstr("auth.session.same_site")
    );
}

} // namespace
} // namespace agui::gateway
