#pragma once

#include "gateway/auth/caller.hpp"
#include "gateway/auth/key_set.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace agui::gateway {

/// Limit for a token, in bytes. Checked before anything is parsed.
inline constexpr std::size_t jwt_bytes_max = 8'192;

/// Rules for accepting tokens and reading their claims. A claim `a.b` that does not exist by that
/// name is the member `b` of the claim `a`.
struct jwt_rules {
    std::string issuer;                 ///< `iss` must be equal.
    std::vector<std::string> audiences; ///< `aud` must hold one of these.
    std::vector<jws_algorithm> algorithms;
    std::chrono::milliseconds leeway{0}; ///< How far clocks may differ.
    std::string user_claim = "sub";
    std::string tenant_claim; ///< Empty if users have no tenant. Otherwise tokens must have it.
    /// A list, or a text separated by spaces; empty if tokens give no scopes.
    std::string scope_claim = "scope";
    scope_set scopes; ///< Every caller has these.
    /// caller::credential of those who meet these rules; other rules have another one.
    std::string credential{};
};

struct jwt_refused {
    std::string_view why; ///< One sentence that may be shown.
};
/// No key of the set fits the token; a newer set may have one.
struct jwt_key_unknown {};

using jwt_outcome = std::variant<caller, jwt_refused, jwt_key_unknown>;

/// Checks a signed token (RFC 7515, compact form; RFC 7519; RFC 8725). Its time must be valid
/// (`exp` is demanded), and its issuer, audience and signature right. Members of its header that
/// hold or name keys are ignored. The caller expires with the token. Thread-safe.
[[nodiscard]] jwt_outcome
check_jwt(std::string_view token, const key_set& keys, const jwt_rules& rules, unix_ms now);

} // namespace agui::gateway
