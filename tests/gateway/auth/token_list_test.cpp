#include "gateway/auth/current_authenticator.hpp"
#include "gateway/auth/proxy_headers.hpp"
#include "gateway/auth/token_list.hpp"
#include "tests/support/coroutine_test.hpp"

#include <string>
#include <vector>

namespace agui::test {
namespace {

using gateway::auth_error;
using gateway::auth_result;
using headers = std::vector<gateway::presented_head::header>;

class Authenticators : public coroutine_test {
protected:
    auth_result ask(gateway::authenticator& checker, const headers& sent, bool from_proxy = false) {
        const gateway::presented_head head{.headers = sent, .from_proxy = from_proxy};
        return run(checker.authenticate(head));
    }
    auth_result present(gateway::authenticator& checker, const std::string& token) {
        return ask(checker, {{"authorization", "Bearer " + token}});
    }
    static gateway::caller named(const std::string& user) {
        return {.principal = gateway::principal_of("", user), .user = user};
    }
    static gateway::proxy_header_names proxy_names() {
        gateway::proxy_header_names names;
        names.user = "x-user";
        names.tenant = "x-tenant";
        names.groups = "x-groups";
        names.group_scopes = {{"staff", "run read"}, {"ops", "admin"}};
        names.scopes.add("approve");
        return names;
    }

    manual_clock time;
};

TEST_F(Authenticators, EveryTokenHasItsCaller) {
    const auto checker = gateway::make_token_authenticator(
        {{"token-of-ada", named("ada")}, {"token-of-eve", named("eve")}}, time
    );

    EXPECT_EQ(present(*checker, "token-of-ada").value()->user, "ada");
    EXPECT_EQ(present(*checker, "token-of-eve").value()->user, "eve");
    EXPECT_EQ(ask(*checker, {}).error().what, auth_error::kind::missing);
    for (const char* wrong : {"token-of-ad", "token-of-adaa", "Token-of-ada", "x"}) {
        EXPECT_EQ(present(*checker, wrong).error().what, auth_error::kind::invalid) << wrong;
    }
    EXPECT_EQ(
        ask(*checker, {{"authorization", "Basic token-of-ada"}}).error().what,
        auth_error::kind::invalid
    );
    EXPECT_TRUE(checker->reads("authorization"));
    EXPECT_FALSE(checker->reads("x-user"));
}

TEST_F(Authenticators, ATokenExpires) {
    gateway::caller ada = named("ada");
    ada.expires = time.now() + 1000;
    const auto checker = gateway::make_token_authenticator({{"token-of-ada", ada}}, time);

    EXPECT_TRUE(present(*checker, "token-of-ada"));
    time.advance(std::chrono::milliseconds(1000));
    EXPECT_EQ(present(*checker, "token-of-ada").error().what, auth_error::kind::invalid);
}

TEST_F(Authenticators, WithoutAuthenticationEverybodyIsTheSameCaller) {
    const auto checker = gateway::make_open_authenticator();

    EXPECT_EQ(ask(*checker, {{"authorization", "x"}}).value(), gateway::everybody());
    EXPECT_FALSE(checker->reads("authorization")) << "it belongs to a tool's server";
}

TEST_F(Authenticators, AProxyNamesTheUser) {
    const auto checker = gateway::make_proxy_authenticator(proxy_names());

    const auto who =
        ask(*checker,
            {{"x-user", "ada"}, {"x-tenant", "acme"}, {"x-groups", "guests, staff ,none"}}, true);

    ASSERT_TRUE(who);
    EXPECT_EQ((*who)->principal, "acme/ada");
    EXPECT_EQ((*who)->scopes.texts(), (std::vector<std::string>{"approve", "read", "run"}));
    EXPECT_TRUE(
        checker->reads("x-user") && checker->reads("x-tenant") && checker->reads("x-groups")
    );
    EXPECT_FALSE(checker->reads("authorization"));
}

TEST_F(Authenticators, OnlyAProxyIsBelieved) {
    const auto checker = gateway::make_proxy_authenticator(proxy_names());
    const headers sent{{"x-user", "ada"}, {"x-tenant", "acme"}};

    EXPECT_TRUE(ask(*checker, sent, true));
    EXPECT_EQ(ask(*checker, sent, false).error().what, auth_error::kind::unnamed);
}

TEST_F(Authenticators, AProxyThatNamesNobodyIsNotBelieved) {
    const auto checker = gateway::make_proxy_authenticator(proxy_names());

    for (const headers& sent : std::vector<headers>{
             {},
             {{"x-tenant", "acme"}},
             {{"x-user", "ada"}},
             {{"x-user", ""}, {"x-tenant", "acme"}},
             {{"x-user", "ada"}, {"x-tenant", ""}},
             {{"x-user", "ada"}, {"x-user", "eve"}, {"x-tenant", "acme"}},
             {{"x-user", "ada"}, {"x-tenant", "acme"}, {"x-tenant", "acme"}},
             {{"x-user", "\xFF"}, {"x-tenant", "acme"}},
             {{"x-user", std::string(256, 'a')}, {"x-tenant", "acme"}},
             {{"x-user", "ada"}, {"x-tenant", "acme"}, {"x-groups", "ops"}, {"x-groups", "staff"}},
         }) {
        EXPECT_FALSE(ask(*checker, sent, true));
    }
}

TEST_F(Authenticators, OneMayReplaceAnother) {
    gateway::current_authenticator current(
        gateway::make_token_authenticator({{"old-token", named("ada")}}, time)
    );
    const auto kept = current.get();

    current.replace(gateway::make_token_authenticator({{"new-token", named("ada")}}, time));

    EXPECT_FALSE(present(*current.get(), "old-token"));
    EXPECT_TRUE(present(*current.get(), "new-token"));
    EXPECT_TRUE(present(*kept, "old-token")) << "a request that is being checked keeps it";
}

} // namespace
} // namespace agui::test
