#pragma once

#include "gateway/http/http_message.hpp"
#include "session/base/error.hpp"

#include <string_view>

namespace agui::gateway {

/// Refusals that concern the HTTP exchange itself; `errc` holds those of the request's meaning.
/// Each value is one `error.code` of design section 5.
enum class http_errc {
    bad_framing,            ///< 400: head or body can be read in more than one way, or not at all.
    unauthorized,           ///< 401
    forbidden,              ///< 403
    not_found,              ///< 404
    method_not_allowed,     ///< 405: the caller adds Allow.
    not_acceptable,         ///< 406
    request_timeout,        ///< 408
    body_too_large,         ///< 413
    unsupported_media_type, ///< 415
    wrong_host,             ///< 421
    rate_limited,           ///< 429
    headers_too_large,      ///< 431
    internal,               ///< 500: says nothing about its cause.
    overloaded,             ///< 503
};

/// `{"error":{"code","message","path"?,"activeRunId"?,"earliest"?}}` with the status that belongs
/// to the code, and Retry-After where trying again may help. This and the next are the only places
/// that know statuses.
[[nodiscard]] http_reply to_reply(const failure& error);
[[nodiscard]] http_reply to_reply(http_errc code, std::string_view message);

/// The reason phrase of a status line; "Unknown" for a status that this server never sends.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

} // namespace agui::gateway
