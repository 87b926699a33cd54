#pragma once

#include "gateway/auth/caller.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

class session_cookies;

/// The part of a request that says who sent it.
struct presented_head {
    using header = std::pair<std::string, std::string>;
    std::span<const header> headers; ///< Names in lower case.
    bool from_proxy = false;         ///< The peer is one of `server.trusted_proxies`.
    /// Sent by a browser on this machine over plain HTTP, whose cookies may lack Secure.
    bool plain_loopback = false;

    /// The value of the header; nullopt if it is missing or occurs twice.
    [[nodiscard]] std::optional<std::string_view> only(std::string_view name) const noexcept;
    [[nodiscard]] bool has(std::string_view name) const noexcept;
};

/// The token in `Authorization: Bearer TOKEN` (RFC 6750, 2.1); nullopt if there is none, or if the
/// header occurs twice.
[[nodiscard]] std::optional<std::string_view> bearer_in(const presented_head& head) noexcept;

/// The value of the session's cookie, if it is what identifies the sender: an Authorization decides
/// alone, also if it is wrong. nullopt if it does not.
[[nodiscard]] std::optional<std::string_view> session_of(const presented_head& head) noexcept;

/// Why a request has no caller, or may not do what it asks for.
struct auth_error {
    enum class kind {
        missing,     ///< 401: the request has no credentials.
        unnamed,     ///< 401: the proxy that authenticates users has not named one.
        invalid,     ///< 401: its credentials are wrong, expired or revoked.
        forbidden,   ///< 403: its caller lacks `scope`.
        unavailable, ///< 503: the keys are not available yet.
    };
    kind what = kind::missing;
    std::string detail{}; ///< One sentence for the client. Holds nothing of the credentials.
    std::string scope{};  ///< With forbidden: the scope that is missing.
};

[[noreturn]] void
throw_exception_from_error(const auth_error& error, const boost::source_location& where);

/// The value of the header WWW-Authenticate (RFC 6750, 3) of a 401 or a 403; empty if there is
/// none, because no token would help.
[[nodiscard]] std::string challenge_of(const auth_error& error);

/// The refusal of a caller that lacks a scope; for one agent only, unless `agent` is empty.
[[nodiscard]] auth_error missing_scope(scope needed, std::string_view agent = {});

using auth_result = boost::system::result<std::shared_ptr<const caller>, auth_error>;

/// Identifies callers by their credentials. Safe to call from any thread.
class authenticator {
public:
    virtual ~authenticator() = default;

    /// The caller, never null. The head must outlive the await. Completes at once, unless keys have
    /// to be fetched. A stream's caller is not checked again while the stream lasts.
    [[nodiscard]] virtual boost::asio::awaitable<auth_result>
    authenticate(const presented_head& head) = 0;

    /// True if a handler must not see the header (its name is in lower case), because it holds
    /// credentials for this gateway.
    [[nodiscard]] virtual bool reads(std::string_view header) const noexcept = 0;

    /// The caller of a session that began with credentials of this authenticator
    /// (caller::credential), as it is now. auth_error::kind::invalid: they no longer identify
    /// anybody. The caller expires when `remembered` does, or earlier.
    [[nodiscard]] virtual auth_result recall(caller remembered) const;

    /// Makes and reads the cookies of sessions. Null if there are no sessions.
    [[nodiscard]] virtual const session_cookies* sessions() const noexcept { return nullptr; }

    /// Fetches keys again that are no longer fresh. To be called once a minute.
    [[nodiscard]] virtual boost::asio::awaitable<void> renew() { co_return; }
};

} // namespace agui::gateway
