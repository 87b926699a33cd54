#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/http/http_message.hpp"
#include "session/base/error.hpp"

#include <cstdint>
#include <string_view>

namespace agui::gateway {

/// Refusals that concern the HTTP exchange itself; `errc` has the refusals that concern the meaning
/// of a request. Each name is an `error.code` of an HTTP error body.
enum class http_errc {
    bad_framing,            ///< 400: the head or body is ambiguous or malformed.
    unauthorized,           ///< 401
    forbidden,              ///< 403
    not_found,              ///< 404
    method_not_allowed,     ///< 405. The caller adds the header Allow.
    request_timeout,        ///< 408
    precondition_failed,    ///< 412
    body_too_large,         ///< 413
    unsupported_media_type, ///< 415
    range_not_satisfiable,  ///< 416. The caller adds the header Content-Range.
    wrong_host,             ///< 421
    rate_limited,           ///< 429
    headers_too_large,      ///< 431
    internal,               ///< 500. The reply does not say why.
    overloaded,             ///< 503
    auth_unavailable,       ///< 503: nobody can be authenticated yet.
};

/// `{"error":{"code","message","path"?,"activeRunId"?}}` with the status of the code, and
/// Retry-After if a retry may help. Only these functions map codes to statuses.
[[nodiscard]] http_reply to_reply(const failure& error);
[[nodiscard]] http_reply to_reply(http_errc code, std::string_view message);
/// The same, with a WWW-Authenticate that says what is wrong, if challenge_of() gives one.
[[nodiscard]] http_reply to_reply(const auth_error& error);

/// http_errc::rate_limited with that Retry-After.
[[nodiscard]] http_reply
too_many_requests(std::string_view message, std::int64_t retry_after_seconds);

/// The reason phrase of a status line; "Unknown" for a status that this server never sends.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

} // namespace agui::gateway
