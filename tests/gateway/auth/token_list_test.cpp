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
    auth_result ask(gateway::authenticator& judge, const headers& sent, bool from_proxy = false) {
        const gateway::presented_head head{.headers = sent, .from_proxy = from_proxy};
        return run(judge.authenticate(head));
    }
    auth_result present(gateway::authenticator& judge, const std::string& token) {
        return ask(judge, {{"authorization", "Bearer " + token}});
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
    const auto judge = gateway::make_token_authenticator(
        {{"token-of-ada", named("ada")}, {"token-of-eve", named("eve")}}, time
    );

    EXPECT_EQ(present(*judge, "token-of-ada").value()->user, "ada");
    EXPECT_EQ(present(*judge, "token-of-eve").value()->user, "eve");
    EXPECT_EQ(ask(*judge, {}).error().what, auth_error::kind::missing);
    for (const char* wrong : {"token-of-ad", "token-of-adaa", "Token-of-ada", "x"}) {
        EXPECT_EQ(present(*judge, wrong).error().what, auth_error::kind::invalid) << wrong;
    }
    EXPECT_EQ(
        ask(*judge, {{"authorization", "Basic token-of-ada"}}).error().what,
        auth_error::kind::invalid
    );
    EXPECT_TRUE(judge->reads("authorization"));
    EXPECT_FALSE(judge->reads("x-user"));
}

TEST_F(Authenticators, ATokenExpires) {
    gateway::caller ada = named("ada");
    ada.expires = time.now() + 1000;
    const auto judge = gateway::make_token_authenticator({{"token-of-ada", ada}}, time);

    EXPECT_TRUE(present(*judge, "token-of-ada"));
    time.advance(std::chrono::milliseconds(1000));
    EXPECT_EQ(present(*judge, "token-of-ada").error().what, auth_error::kind::invalid);
}

TEST_F(Authenticators, WithoutAuthenticationEverybodyIsTheSameCaller) {
    const auto judge = gateway::make_open_authenticator();

    EXPECT_EQ(ask(*judge, {{"authorization", "x"}}).value(), gateway::everybody());
    EXPECT_FALSE(judge->reads("authorization")) << "it belongs to a tool's server";
}

TEST_F(Authenticators, AProxyNamesTheUser) {
    const auto judge = gateway::make_proxy_authenticator(proxy_names());

    const auto who =
        ask(*judge, {{"x-user", "ada"}, {"x-tenant", "acme"}, {"x-groups", "guests, staff ,none"}},
            true);

    ASSERT_TRUE(who);
    EXPECT_EQ((*who)->principal, "acme/ada");
    EXPECT_EQ((*who)->scopes.texts(), (std::vector<std::string>{"approve", "read", "run"}));
    EXPECT_TRUE(judge->reads("x-user") && judge->reads("x-tenant") && judge->reads("x-groups"));
    EXPECT_FALSE(judge->reads("authorization"));
}

TEST_F(Authenticators, OnlyAProxyIsBelieved) {
    const auto judge = gateway::make_proxy_authenticator(proxy_names());
    const headers sent{{"x-user", "ada"}, {"x-tenant", "acme"}};

    EXPECT_TRUE(ask(*judge, sent, true));
    EXPECT_EQ(ask(*judge, sent, false).error().what, auth_error::kind::unnamed);
}

TEST_F(Authenticators, AProxyThatNamesNobodyIsNotBelieved) {
    const auto judge = gateway::make_proxy_authenticator(proxy_names());

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
        EXPECT_FALSE(ask(*judge, sent, true));
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
