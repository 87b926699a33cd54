#pragma once

#include "runner/http/http_client.hpp"
#include "runner/http/http_url.hpp"

#include <string_view>

namespace agui::runner {

/// Redirects followed for one request. More of them mean a loop or a misconfigured server.
inline constexpr int redirects_max = 5;

/// True for a status that, with a Location, redirects the client (RFC 9110, 15.4).
[[nodiscard]] bool is_redirect(int status) noexcept;

/// A redirecting answer.
struct redirect {
    int status = 0;
    http_method method = http_method::post; ///< Method of the request.
    std::string_view location;              ///< The header's value, not empty.
};

/// Decides whether a redirect is followed with the same method, body and headers. That holds for
/// 307 and 308, for a GET also for 301 and 302, and only to the same origin, or from http to https
/// on the same host, since the headers hold keys. `from` is the URL of the request. Returns the URL
/// of the next request. The detail of a failure (`redirect`) names the Location without its user
/// name, query and fragment, which may hold keys. It may be long, and its path may repeat a secret
/// of the request.
[[nodiscard]] transport_result<http_url>
follow_redirect(const http_url& from, const redirect& answer);

} // namespace agui::runner
