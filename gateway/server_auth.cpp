#include "gateway/auth/proxy_headers.hpp"
#include "gateway/auth/token_list.hpp"
#include "gateway/server_parts.hpp"
#include "session/base/ascii.hpp"

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

std::shared_ptr<authenticator> make_tokens(const auth_config& auth) {
    std::vector<listed_token> tokens;
    if (!auth.token.value.empty()) {
        tokens.push_back({auth.token.value, *everybody()});
    }
    for (const token_config& each : auth.tokens) {
        caller who;
        who.tenant = each.tenant;
        who.user = each.name;
        who.principal = principal_of(who.tenant, who.user);
        who.scopes = scopes_of(each.scopes);
        who.expires = each.expires_at;
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

} // namespace

std::shared_ptr<authenticator> make_authenticator(const config& all) {
    using mode = auth_config::mode;
    switch (all.auth ? all.auth->kind : mode::none) {
    case mode::none:
        break;
    case mode::bearer:
        return make_tokens(*all.auth);
    case mode::proxy:
        return make_proxy(*all.auth);
    }
    return make_open_authenticator();
}

} // namespace agui::gateway
