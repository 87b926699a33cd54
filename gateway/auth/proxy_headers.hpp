#pragma once

#include "gateway/auth/authenticator.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace agui::gateway {

/// The headers in which a proxy names the user that it has authenticated.
struct proxy_header_names {
    // Names in lower case.
    std::string user;
    std::string tenant; ///< Empty if users have no tenant. Otherwise the proxy must send it.
    std::string groups; ///< A list separated by commas; empty if groups decide nothing.
    /// The scopes of the members of a group, separated by spaces.
    std::map<std::string, std::string, std::less<>> group_scopes;
    scope_set scopes; ///< Every caller has these.
};

/// Trusts the headers of trusted proxies only.
[[nodiscard]] std::shared_ptr<authenticator> make_proxy_authenticator(proxy_header_names names);

} // namespace agui::gateway
