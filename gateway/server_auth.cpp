#include "gateway/auth/cookie_sessions.hpp"
#include "gateway/auth/jwt_authenticator.hpp"
#include "gateway/auth/proxy_headers.hpp"
#include "gateway/auth/session_cookie.hpp"
#include "gateway/auth/token_list.hpp"
#include "gateway/server_parts.hpp"
#include "runner/http/http_transport.hpp"
#include "session/base/ascii.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace {

scope_set scopes_of(const std::vector<std::string>& texts) {
    scope_set made;
    for (const std::string& each : texts) {
        made.add(each); // Validated when the configuration was read.
    }
    return made;
}

/// Null if there are no sessions. Without a secret in the configuration, `random_secret` is theirs.
std::shared_ptr<const session_cookies>
make_sessions(const auth_config& auth, const std::string& random_secret) {
    if (!auth.session.enabled) {
        return nullptr;
    }
    const std::string& own = auth.session.key.value;
    return std::make_shared<const session_cookies>(session_cookies::settings{
        own.empty() ? random_secret : own, auth.session.life, auth.session.site
    });
}

std::string credential_of_token(const session_cookies* sessions, const std::string& token) {
    return sessions == nullptr ? std::string() : sessions->credential_of({"token", token});
}

/// A session ends when any of the rules changes that its token met.
std::string credential_of_rules(const session_cookies* sessions, const jwt_rules& rules) {
    if (sessions == nullptr) {
        return {};
    }
    std::string lists;
    const auto add = [&lists](std::string_view text) {
        lists.append(std::to_string(text.size())).append(":").append(text);
    };
    for (const std::string& each : rules.audiences) {
        add(each);
    }
    add("algorithms");
    for (const jws_algorithm each : rules.algorithms) {
        add(to_string(each));
    }
    add("scopes");
    for (const std::string& each : rules.scopes.texts()) {
        add(each);
    }
    return sessions->credential_of(
        {"jwt", rules.issuer, lists, rules.user_claim, rules.tenant_claim, rules.scope_claim}
    );
}

std::shared_ptr<authenticator>
make_tokens(const auth_config& auth, const session_cookies* sessions) {
    std::vector<listed_token> tokens;
    if (!auth.token.value.empty()) {
        caller all = *everybody();
        all.credential = credential_of_token(sessions, auth.token.value);
        tokens.push_back({auth.token.value, std::move(all)});
    }
    for (const token_config& each : auth.tokens) {
        caller who;
        who.tenant = each.tenant;
        who.user = each.name;
        who.principal = principal_of(who.tenant, who.user);
        who.scopes = scopes_of(each.scopes);
        who.expires = each.expires_at;
        who.credential = credential_of_token(sessions, each.token.value);
        tokens.push_back({each.token.value, std::move(who)});
    }
    return make_token_authenticator(std::move(tokens), system_clock());
}

std::shared_ptr<authenticator> make_proxy(const auth_config& auth) {
    proxy_header_names names;
    names.user = to_lower(auth.user_header);
    names.tenant = to_lower(auth.tenant_header);
    names.groups = to_lower(auth.groups_header);
    names.group_scopes.insert(auth.group_scopes.begin(), auth.group_scopes.end());
    names.scopes = scopes_of(auth.scopes);
    return make_proxy_authenticator(std::move(names));
}

std::shared_ptr<key_source> make_fixed_keys(const auth_config& auth) {
    auto fixed = parse_key_set(auth.jwks);
    if (!fixed) {
        throw std::runtime_error("auth.jwks_file: " + fixed.error().detail);
    }
    return std::make_shared<key_source>(std::move(*fixed));
}

std::shared_ptr<authenticator> make_jwt(
    const auth_config& auth, std::shared_ptr<key_source> fetched, const session_cookies* sessions
) {
    jwt_rules rules;
    rules.issuer = auth.issuer;
    rules.audiences = auth.audience;
    for (const std::string& each : auth.algorithms) {
        rules.algorithms.push_back(jws_algorithm_named(each).value());
    }
    rules.leeway = auth.leeway;
    rules.user_claim = auth.user_claim;
    rules.tenant_claim = auth.tenant_claim;
    rules.scope_claim = auth.scope_claim;
    rules.scopes = scopes_of(auth.scopes);
    rules.credential = credential_of_rules(sessions, rules);
    auto keys = fetched ? std::move(fetched) : make_fixed_keys(auth);
    return make_jwt_authenticator(std::move(rules), std::move(keys), system_clock());
}

} // namespace

std::shared_ptr<key_source> make_fetched_keys(const config& all, logger& log) {
    if (!all.auth || all.auth->jwks_url.empty()) {
        return nullptr;
    }
    const key_source::limits bounds;
    runner::http_endpoint endpoint;
    endpoint.base_url = all.auth->jwks_url;
    endpoint.ca_file = all.auth->jwks_ca_file;
    endpoint.connect_timeout = bounds.time;
    endpoint.first_byte_timeout = bounds.time;
    endpoint.idle_timeout = bounds.time;
    auto client = runner::make_http_client(std::move(endpoint));
    if (!client) {
        throw std::runtime_error("auth.jwks_url: " + client.error().detail);
    }
    return std::make_shared<key_source>(std::move(*client), bounds, log);
}

std::shared_ptr<authenticator> make_authenticator(
    const config& all, std::shared_ptr<key_source> fetched, const std::string& session_secret
) {
    using mode = auth_config::mode;
    if (!all.auth || all.auth->kind == mode::none) {
        return make_open_authenticator();
    }
    if (all.auth->kind == mode::proxy) {
        return make_proxy(*all.auth);
    }
    auto sessions = make_sessions(*all.auth, session_secret);
    auto made = all.auth->kind == mode::bearer
                    ? make_tokens(*all.auth, sessions.get())
                    : make_jwt(*all.auth, std::move(fetched), sessions.get());
    if (!sessions) {
        return made;
    }
    return make_session_authenticator(std::move(made), std::move(sessions), system_clock());
}

} // namespace agui::gateway
