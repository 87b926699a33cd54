// Cookies of sessions: what they hold, when they end, and that nobody can make or change one.

#include "gateway/auth/cookie_sessions.hpp"
#include "gateway/auth/token_list.hpp"
#include "session/base/base64url.hpp"
#include "tests/support/coroutine_test.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {
namespace {

using gateway::auth_error;
using gateway::auth_result;
using gateway::session_cookies;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using headers = std::vector<gateway::presented_head::header>;

constexpr std::int64_t one_second = 1000;
constexpr std::int64_t one_hour = 3600 * one_second;
constexpr int cookie_mutations = 20'000;
const std::string cookie_secret(32, 's');

gateway::caller cookie_user(const std::string& name, const std::string& tenant = {}) {
    gateway::caller who;
    who.tenant = tenant;
    who.user = name;
    who.principal = gateway::principal_of(tenant, name);
    who.scopes.add("read");
    who.scopes.add("agents:helper:run");
    who.credential = "credential-of-" + name;
    return who;
}

class SessionCookie : public coroutine_test {
protected:
    auth_result ask(const headers& sent, bool plain_loopback = false) {
        const gateway::presented_head head{.headers = sent, .plain_loopback = plain_loopback};
        return run(checker(sessions)->authenticate(head));
    }
    std::shared_ptr<gateway::authenticator>
    checker(const std::shared_ptr<const session_cookies>& with) {
        std::vector<gateway::listed_token> listed;
        for (const gateway::listed_token& each : tokens) {
            listed.push_back(each);
            listed.back().who.credential = with->credential_of({"token", each.token});
        }
        return gateway::make_session_authenticator(
            gateway::make_token_authenticator(std::move(listed), time), with, time
        );
    }
    session_cookies::begun begin_with(const std::string& token) {
        const auto who = ask({{"authorization", "Bearer " + token}});
        return sessions->begin(**who, time.now()).value();
    }
    static headers cookie(const std::string& value) {
        return {{"cookie", "theme=dark; __Host-agui-session=" + value + "; a=b"}};
    }

    manual_clock time;
    std::vector<gateway::listed_token> tokens{
        {"token-of-ada", cookie_user("ada")}, {"token-of-eve", cookie_user("eve")}
    };
    std::shared_ptr<const session_cookies> sessions =
        std::make_shared<const session_cookies>(session_cookies::settings{.secret = cookie_secret});
};

TEST_F(SessionCookie, HoldsItsCaller) {
    const gateway::caller ada = cookie_user("a%/da", "ac/me");
    const auto made = sessions->begin(ada, time.now());

    ASSERT_TRUE(made);
    EXPECT_EQ(made->ends, time.now() + one_hour);
    const auto read = sessions->read(made->value, time.now());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->principal, ada.principal);
    EXPECT_EQ(read->user, ada.user);
    EXPECT_EQ(read->tenant, ada.tenant);
    EXPECT_EQ(read->scopes, ada.scopes);
    EXPECT_EQ(read->credential, ada.credential);
}

TEST_F(SessionCookie, EndsWithItsTime) {
    const auto made = sessions->begin(cookie_user("ada"), time.now());

    EXPECT_TRUE(sessions->read(made->value, made->ends - 1));
    const auto after = sessions->read(made->value, made->ends);
    ASSERT_FALSE(after);
    EXPECT_EQ(after.error().what, auth_error::kind::missing) << "it was not guessed";
}

TEST_F(SessionCookie, NeverOutlivesItsToken) {
    gateway::caller ada = cookie_user("ada");
    ada.expires = time.now() + 5 * one_second;

    const auto made = sessions->begin(ada, time.now());

    EXPECT_EQ(made->ends, time.now() + 5 * one_second);
    EXPECT_EQ(made->who.expires, ada.expires);
}

TEST_F(SessionCookie, CanBeProlongedForADay) {
    auto session = begin_with("token-of-ada");
    const std::int64_t begun_at = time.now();
    int prolonged = 0;
    for (;; ++prolonged) {
        ASSERT_LE(prolonged, 100);
        time.advance(std::chrono::minutes(50));
        const auto who = ask(cookie(session.value));
        if (!who) {
            break;
        }
        session = sessions->begin(**who, time.now()).value();
        EXPECT_LE(session.ends, begun_at + 24 * one_hour);
    }
    EXPECT_EQ(session.ends, begun_at + 24 * one_hour);
    EXPECT_EQ(prolonged, 28);
}

TEST_F(SessionCookie, TooLargeForABrowserIsNotMade) {
    gateway::caller ada = cookie_user("ada");
    std::size_t added = 0;
    while (sessions->begin(ada, time.now())) {
        ASSERT_TRUE(
            ada.scopes.add("agents:" + std::string(20, 'x') + std::to_string(added) + ":run")
        );
        ++added;
    }
    EXPECT_GT(added, 50U);
}

TEST_F(SessionCookie, IsAsLargeAsABrowserStores) {
    gateway::caller ada = cookie_user("ada");
    for (std::size_t size = 1; size < session_cookies::bytes_max; ++size) {
        gateway::caller larger = ada;
        larger.scopes.add("agents:" + std::string(size, 'x') + ":run");
        const auto made = sessions->begin(larger, time.now());
        if (!made) {
            return;
        }
        ASSERT_LE(
            std::string_view("__Host-agui-session").size() + made->value.size(),
            session_cookies::bytes_max
        );
        ASSERT_TRUE(sessions->read(made->value, time.now()));
    }
    ADD_FAILURE() << "there is no limit";
}

TEST_F(SessionCookie, IsOneOfThisSecret) {
    const session_cookies other({.secret = std::string(32, 't')});
    const auto made = sessions->begin(cookie_user("ada"), time.now());

    EXPECT_TRUE(session_cookies({.secret = cookie_secret}).read(made->value, time.now()));
    EXPECT_EQ(other.read(made->value, time.now()).error().what, auth_error::kind::invalid);
    EXPECT_NE(
        other.credential_of({"token", "token-of-ada"}),
        sessions->credential_of({"token", "token-of-ada"})
    );
}

TEST_F(SessionCookie, TellsNothingOfTheToken) {
    const std::string value = begin_with("token-of-ada").value;
    const auto content = decode_base64url(value.substr(0, value.find('.')));

    ASSERT_TRUE(content);
    EXPECT_THAT(*content, Not(HasSubstr("token-of-ada")));
    EXPECT_THAT(*content, HasSubstr(R"("user":"ada")"));
}

TEST_F(SessionCookie, IdentifiesTheCallerOfItsToken) {
    const auto session = begin_with("token-of-ada");

    const auto who = ask(cookie(session.value));

    ASSERT_TRUE(who);
    EXPECT_EQ((*who)->user, "ada");
    EXPECT_EQ(ask({}).error().what, auth_error::kind::missing);
    EXPECT_EQ(ask(cookie("x")).error().what, auth_error::kind::invalid);
    EXPECT_EQ(ask(cookie("")).error().what, auth_error::kind::invalid);
}

TEST_F(SessionCookie, OfARevokedTokenIsInvalid) {
    const auto session = begin_with("token-of-ada");
    const auto other = begin_with("token-of-eve");

    tokens.erase(tokens.begin());

    EXPECT_EQ(ask(cookie(session.value)).error().what, auth_error::kind::invalid);
    EXPECT_TRUE(ask(cookie(other.value)));
}

TEST_F(SessionCookie, HasThePresentScopesAndExpiryOfItsToken) {
    const auto session = begin_with("token-of-ada");

    tokens.front().who.scopes = {};
    tokens.front().who.scopes.add("delete");
    tokens.front().who.expires = time.now() + 2 * one_second;

    const auto who = ask(cookie(session.value));
    ASSERT_TRUE(who);
    EXPECT_THAT((*who)->scopes.texts(), ElementsAre("delete"));
    EXPECT_EQ((*who)->expires, tokens.front().who.expires);
    time.advance(std::chrono::seconds(2));
    EXPECT_EQ(ask(cookie(session.value)).error().what, auth_error::kind::invalid);
}

TEST_F(SessionCookie, CountsOnlyWithoutAuthorization) {
    const auto session = begin_with("token-of-ada");
    headers both = cookie(session.value);

    both.emplace_back("authorization", "Bearer token-of-eve");
    EXPECT_EQ(ask(both).value()->user, "eve");
    for (const char* wrong : {"Bearer wrong", "Basic eA==", "Bearer", ""}) {
        both.back().second = wrong;
        EXPECT_EQ(ask(both).error().what, auth_error::kind::invalid) << wrong;
    }
}

TEST_F(SessionCookie, ThatOccursTwiceIsInvalid) {
    const std::string mine = "__Host-agui-session=" + begin_with("token-of-ada").value;
    const std::string other = "__Host-agui-session=" + begin_with("token-of-eve").value;

    EXPECT_FALSE(ask({{"cookie", mine + "; " + other}}));
    EXPECT_FALSE(ask({{"cookie", mine}, {"cookie", other}}));
    EXPECT_TRUE(ask({{"cookie", "a=b"}, {"cookie", mine}}));
}

TEST_F(SessionCookie, MayBeSentInTheClearOnThisMachineOnly) {
    const headers sent{{"cookie", "agui-session=" + begin_with("token-of-ada").value}};

    EXPECT_TRUE(ask(sent, true));
    EXPECT_EQ(ask(sent, false).error().what, auth_error::kind::missing);
    EXPECT_TRUE(ask(cookie(begin_with("token-of-ada").value), true)) << "behind a proxy here";
}

TEST_F(SessionCookie, HasItsAttributes) {
    const auto session = begin_with("token-of-ada");
    const std::string attributes = "; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax";

    EXPECT_EQ(
        sessions->set_cookie(session, false, time.now()),
        "__Host-agui-session=" + session.value + attributes + "; Secure"
    );
    EXPECT_EQ(
        sessions->set_cookie(session, true, time.now()),
        "agui-session=" + session.value + attributes
    );
    const session_cookies everywhere({.secret = cookie_secret, .site = gateway::same_site::none});
    EXPECT_THAT(
        everywhere.set_cookie(session, true, time.now()),
        AllOf(StartsWith("__Host-agui-session="), HasSubstr("SameSite=None; Secure"))
    );
    const session_cookies strict({.secret = cookie_secret, .site = gateway::same_site::strict});
    EXPECT_THAT(strict.set_cookie(session, false, time.now()), HasSubstr("SameSite=Strict"));
    EXPECT_THAT(
        sessions->clear_cookies(true),
        ElementsAre(
            "__Host-agui-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure",
            "agui-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
        )
    );
}

TEST_F(SessionCookie, IsRemovedFromAmongOthers) {
    headers sent{
        {"cookie", "theme=dark;__Host-agui-session=x ;  a=b; agui-session=y; agui-sessions=z"},
        {"cookie", "agui-session=y"},
        {"accept", "*/*"}
    };

    gateway::remove_session_cookies(sent);

    EXPECT_THAT(
        sent, ElementsAre(
                  headers::value_type("cookie", "theme=dark; a=b; agui-sessions=z"),
                  headers::value_type("accept", "*/*")
              )
    );
}

class SessionMutations : public SessionCookie {
protected:
    SessionMutations() {
        for (const char* name : {"ada", "eve", "bob"}) {
            good.push_back(sessions->begin(cookie_user(name), time.now())->value);
            foreign.push_back(session_cookies({.secret = std::string(33, 's')})
                                  .begin(cookie_user(name), time.now())
                                  ->value);
        }
    }
    std::size_t below(std::size_t limit) { return random() % limit; }
    std::string flipped(std::string bytes) {
        char& c = bytes[below(bytes.size())];
        c = static_cast<char>(c ^ (1 << below(8)));
        return bytes;
    }
    /// One bit of the decoded content or signature, so that the text stays base64url.
    std::string with_flipped_content(const std::string& value) {
        std::string parts[2] = {
            value.substr(0, value.find('.')), value.substr(value.find('.') + 1)
        };
        std::string& part = parts[below(2)];
        part = encode_base64url(flipped(decode_base64url(part).value()));
        return parts[0] + "." + parts[1];
    }
    std::string with_signature_of_another(const std::string& value) {
        const std::string& other = good[below(good.size())];
        return value.substr(0, value.find('.')) + other.substr(other.find('.'));
    }
    std::string with_other_text(std::string value) {
        const std::size_t at = below(value.size());
        switch (below(3)) {
        case 0:
            return value.substr(0, at);
        case 1:
            return value.insert(at, 1, static_cast<char>(below(256)));
        default:
            return value.erase(at, 1 + below(8));
        }
    }
    std::string mutate() {
        const std::string& value = good[below(good.size())];
        switch (below(5)) {
        case 0:
            return flipped(value);
        case 1:
            return with_flipped_content(value);
        case 2:
            return with_signature_of_another(value);
        case 3:
            return with_other_text(value);
        default:
            return foreign[below(foreign.size())];
        }
    }

    std::mt19937 random{20'261'129};
    std::vector<std::string> good;
    std::vector<std::string> foreign; ///< Of another secret.
};

TEST_F(SessionMutations, AreNeverAccepted) {
    for (const std::string& each : good) {
        ASSERT_TRUE(sessions->read(each, time.now()));
    }
    int tried = 0;
    while (tried < cookie_mutations) {
        const std::string value = mutate();
        if (std::ranges::find(good, value) != good.end()) {
            continue; // Nothing was changed.
        }
        ++tried;
        ASSERT_FALSE(sessions->read(value, time.now())) << "mutation " << tried << ": " << value;
    }
}

} // namespace
} // namespace agui::test
