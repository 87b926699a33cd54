#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/caller.hpp"
#include "gateway/auth/scopes.hpp"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using ::testing::ElementsAre;

TEST(Scopes, AreReadByName) {
    scope_set held;
    for (const char* name : {"run", "read", "delete", "approve", "agents:a:b:run"}) {
        EXPECT_TRUE(held.add(name)) << name;
    }
    for (const char* unknown :
         {"", "Run", "runs", "agents:", "agents::run", "agents:a", "agents:a:read", "openid"}) {
        EXPECT_FALSE(held.add(unknown)) << unknown;
    }

    EXPECT_THAT(held.texts(), ElementsAre("agents:a:b:run", "approve", "delete", "read", "run"));
    EXPECT_FALSE(held.allows(scope::admin));
    EXPECT_FALSE(scope_set().may_allow(scope::read));
}

TEST(Scopes, AListHoldsScopesOfOtherServices) {
    scope_set held;
    held.add_list("openid  read profile agents:x:run ");

    EXPECT_THAT(held.texts(), ElementsAre("agents:x:run", "read"));
}

TEST(Scopes, OfOneAgentAllowOnlyThatAgent) {
    scope_set held;
    held.add("agents:a:run");

    EXPECT_TRUE(held.allows(scope::run, "a"));
    EXPECT_FALSE(held.allows(scope::run, "b"));
    EXPECT_FALSE(held.allows(scope::run));
    EXPECT_TRUE(held.may_allow(scope::run));
    EXPECT_FALSE(held.may_allow(scope::approve));
}

TEST(Scopes, AdminIncludesAllOthers) {
    scope_set held;
    held.add("admin");

    for (const scope each : all_scopes) {
        EXPECT_TRUE(held.allows(each)) << to_string(each);
        EXPECT_TRUE(held.allows(each, "a"));
    }
}

TEST(Scopes, OfSingleAgentsAreLimited) {
    scope_set held;
    for (std::size_t i = 0; i < scope_set::agents_max; ++i) {
        EXPECT_TRUE(held.add("agents:" + std::to_string(i) + ":run"));
    }

    EXPECT_FALSE(held.add("agents:more:run"));
    EXPECT_TRUE(held.add("read"));
}

TEST(Caller, EveryPairOfTenantAndUserHasItsOwnPrincipal) {
    EXPECT_EQ(principal_of("", ""), "");
    EXPECT_EQ(principal_of("", "ada"), "ada");
    EXPECT_EQ(principal_of("acme", "ada@example.com"), "acme/ada@example.com");
    EXPECT_EQ(principal_of("a/b", "50%"), "a%2Fb/50%25");
    EXPECT_EQ(name_of(""), caller_name());
    EXPECT_EQ(name_of("ada"), (caller_name{"", "ada"}));
    EXPECT_EQ(name_of("a%2Fb/50%25"), (caller_name{"a/b", "50%"}));
    EXPECT_EQ(name_of(principal_of("%2F", "%25")), (caller_name{"%2F", "%25"}));

    const std::vector<std::string> names{"", "a", "b", "a/b", "/", "%", "%2F", "a%2Fb", "a/", "/b"};
    std::set<std::string> seen;
    for (const std::string& tenant : names) {
        for (const std::string& user : names) {
            seen.insert(principal_of(tenant, user));
        }
    }
    EXPECT_EQ(seen.size(), names.size() * names.size());
}

TEST(Caller, NamesAreTextsOfOneLine) {
    EXPECT_TRUE(is_caller_name("Ada \xC3\x96"));
    EXPECT_TRUE(is_caller_name("\xC2\xA0 \xC3\x80 \xE2\x80\xA7"));
    EXPECT_TRUE(is_caller_name(std::string(caller_name_max, 'a')));
    for (const std::string& bad :
         {std::string(), std::string("a\nb"), std::string("a\0b", 3), std::string("\x7F"),
          std::string("\xFF"), std::string("a\xC2\x80"),
          std::string("a\xC2\x85"
                      "b"),
          std::string("a\xC2\x9F"),
          std::string("a\xE2\x80\xA8"
                      "b"),
          std::string("\xE2\x80\xA9"), std::string(caller_name_max + 1, 'a')}) {
        EXPECT_FALSE(is_caller_name(bad)) << bad;
    }
}

TEST(Caller, IsReadAsItWasWritten) {
    caller who;
    who.tenant = "acme \"1\"";
    who.user = "ada/\xC3\x96";
    who.principal = principal_of(who.tenant, who.user);
    who.scopes.add_list("read agents:x:run");
    who.expires = 1'800'000'000'000;

    const auto read = read_caller(write_caller(who));

    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->principal, who.principal);
    EXPECT_EQ((*read)->tenant, who.tenant);
    EXPECT_EQ((*read)->user, who.user);
    EXPECT_EQ((*read)->scopes, who.scopes);
    EXPECT_EQ((*read)->expires, who.expires);
}

TEST(Caller, OfNobodyIsReadToo) {
    const auto read = read_caller(write_caller(*everybody()));

    ASSERT_TRUE(read);
    EXPECT_EQ((*read)->principal, "");
    EXPECT_TRUE((*read)->scopes.allows(scope::admin));
    EXPECT_FALSE((*read)->expires);
}

TEST(Caller, AMalformedOneIsRefused) {
    for (const char* text :
         {"", "[]", "{}", R"({"tenant":"","user":"a"})", R"({"tenant":"","user":1,"scopes":[]})",
          R"({"tenant":"","user":"a","scopes":["fly"]})",
          R"({"tenant":"","user":"a","scopes":[],"expires":"soon"})",
          R"({"tenant":"","user":"a\n","scopes":[]})"}) {
        EXPECT_FALSE(read_caller(text)) << text;
    }
}

TEST(PresentedHead, HoldsABearerTokenOnce) {
    const auto token_in = [](std::vector<presented_head::header> headers) {
        return std::string(bearer_in({.headers = headers}).value_or("none"));
    };

    EXPECT_EQ(token_in({{"authorization", "Bearer abc"}}), "abc");
    EXPECT_EQ(token_in({{"host", "x"}, {"authorization", "bEARER \t abc "}}), "abc");
    EXPECT_EQ(token_in({}), "none");
    EXPECT_EQ(token_in({{"authorization", "Bearer"}}), "none");
    EXPECT_EQ(token_in({{"authorization", "Bearer  "}}), "none");
    EXPECT_EQ(token_in({{"authorization", "Basic abc"}}), "none");
    EXPECT_EQ(token_in({{"authorization", "Bearer a"}, {"authorization", "Bearer a"}}), "none");
}

TEST(AuthError, HasTheChallengeOfItsKind) {
    using kind = auth_error::kind;
    EXPECT_EQ(challenge_of({kind::missing}), "Bearer");
    EXPECT_EQ(challenge_of({kind::unnamed}), "");
    EXPECT_EQ(challenge_of({kind::invalid}), R"(Bearer error="invalid_token")");
    EXPECT_EQ(
        challenge_of(missing_scope(scope::delete_)),
        R"(Bearer error="insufficient_scope", scope="delete")"
    );
    const auth_error of_agent = missing_scope(scope::run, "a\"b");
    EXPECT_EQ(of_agent.scope, "agents:a\"b:run");
    EXPECT_EQ(challenge_of(of_agent), R"(Bearer error="insufficient_scope", scope="run")");
}

TEST(Principal, HasTheNamesAgain) {
    for (const char* tenant : {"", "acme", "a/b", "%", "%2F", "a%25b/"}) {
        for (const char* user : {"ada", "b/c", "%", "%2f", "%252F", "/"}) {
            const caller_name names = name_of(principal_of(tenant, user));
            EXPECT_EQ(names.tenant, tenant);
            EXPECT_EQ(names.user, user);
        }
    }
}

} // namespace
} // namespace agui::gateway
