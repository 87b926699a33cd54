#pragma once

#include "gateway/auth/scopes.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {

/// An authenticated sender of requests. Immutable once made, and shared by its requests.
struct caller {
    /// The owner of this caller's threads: session::thread_key::principal. See principal_of().
    std::string principal{};
    std::string tenant{}; ///< May be empty.
    std::string user{};   ///< Empty for everybody(), and for the one token of `auth.token_env`.
    scope_set scopes{};
    std::optional<unix_ms> expires{}; ///< No request is accepted from then on.
    /// Names the credentials that identified it, for a session of a browser (session_cookies).
    /// Empty if they can begin none. Not a secret, and not for other gateways.
    std::string credential{};
};

/// Limit for a tenant's name and for a user's, in bytes.
inline constexpr std::size_t caller_name_max = 255;

/// True if the text can name a tenant or a user: 1 to caller_name_max bytes of UTF-8 without
/// control characters (U+0000 to U+001F, U+007F to U+009F) and without U+2028 and U+2029.
[[nodiscard]] bool is_caller_name(std::string_view text) noexcept;

/// The principal of a user: `user`, or `tenant/user` if the tenant is not empty. Within both, `%`
/// is written as `%25` and `/` as `%2F`, so no two pairs have the same principal. Without user and
/// tenant it is empty: the owner of all threads that were stored before there were users.
[[nodiscard]] std::string principal_of(std::string_view tenant, std::string_view user);

/// A tenant, which may be empty, and a user.
struct caller_name {
    std::string tenant;
    std::string user;

    friend bool operator==(const caller_name&, const caller_name&) = default;
};
/// The names of which principal_of() has made the principal.
[[nodiscard]] caller_name name_of(std::string_view principal);

/// The caller of all requests where none is authenticated: the empty principal with all scopes.
[[nodiscard]] const std::shared_ptr<const caller>& everybody();

/// The caller as a JSON object, for a request that another gateway answers.
[[nodiscard]] std::string write_caller(const caller& who);
/// Reads what write_caller() has written. errc::invalid_input for anything else.
[[nodiscard]] result<std::shared_ptr<const caller>> read_caller(std::string_view text);

} // namespace agui::gateway
