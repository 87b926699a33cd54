#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/caller.hpp"
#include "session/base/clock.hpp"

#include <boost/system/result.hpp>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The attribute SameSite of a cookie: which requests of other sites' pages carry it.
enum class same_site { strict, lax, none };

/// Sessions of browsers: cookies that stand for the credentials of a request. A cookie holds its
/// caller, the session's end and an HMAC-SHA256, and nothing is stored: every gateway with the same
/// secret accepts it. Immutable, so any thread may use it.
class session_cookies {
public:
    /// HMAC-SHA256 gains nothing from a longer secret, and a shorter one could be guessed.
    static constexpr std::size_t secret_bytes_min = 32;
    /// Limit for name and value together. Browsers drop a larger cookie (RFC 6265bis, 5.6).
    static constexpr std::size_t bytes_max = 4096;
    /// A session whose cookie is renewed by the cookie alone ends after this time at the latest.
    static constexpr std::chrono::hours longest{24};

    struct settings {
        std::string secret;
        std::chrono::seconds life{3600}; ///< At most `longest`.
        same_site site = same_site::lax;
    };

    explicit session_cookies(settings how) : settings_(std::move(how)) {}

    /// caller::credential for credentials that are described by these texts. Nobody without the
    /// secret can tell what they are.
    [[nodiscard]] std::string credential_of(std::initializer_list<std::string_view> texts) const;

    struct begun {
        std::string value;
        unix_ms ends = 0;
        caller who; ///< who.expires: the session cannot be prolonged beyond that.
    };
    /// A session of this caller, which has a credential. It ends after `life`, but never after the
    /// caller has expired. Returns nullopt if the cookie would be larger than bytes_max.
    [[nodiscard]] std::optional<begun> begin(const caller& who, unix_ms now) const;

    /// The cookie's value in a request; nullopt if there is none. A request with several such
    /// cookies has an empty value, which is not valid. Only a request with `plain_loopback` may
    /// have the cookie that is not Secure: for others, a page of a neighbouring host could set it.
    [[nodiscard]] static std::optional<std::string_view> find(const presented_head& head) noexcept;

    /// The remembered caller of a session that has not ended. auth_error::kind::missing: it has
    /// ended; kind::invalid: the value is not from begin() with this secret.
    [[nodiscard]] boost::system::result<caller, auth_error>
    read(std::string_view value, unix_ms now) const;

    /// The value of Set-Cookie for a session. `plain_loopback` as in presented_head.
    [[nodiscard]] std::string
    set_cookie(const begun& session, bool plain_loopback, unix_ms now) const;
    /// The values of Set-Cookie that end the session in the browser.
    [[nodiscard]] std::vector<std::string> clear_cookies(bool plain_loopback) const;

private:
    [[nodiscard]] std::string signature(std::string_view text) const;
    [[nodiscard]] std::string attributes(bool is_secure, std::chrono::milliseconds life) const;

    const settings settings_;
};

/// Removes the cookies of sessions from the headers of a request, and leaves all others.
void remove_session_cookies(std::vector<presented_head::header>& headers);

} // namespace agui::gateway
