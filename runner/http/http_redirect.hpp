#pragma once

#include "runner/http/http_client.hpp"
#include "runner/http/http_url.hpp"

#include <string_view>

namespace agui::runner {

/// How many redirects of one request are followed; more are a loop, or a server that is set up
/// wrongly.
inline constexpr int redirects_max = 5;

/// True for a status that sends the client elsewhere (RFC 9110, 15.4) if there is a Location.
[[nodiscard]] bool is_redirect(int status) noexcept;

/// An answer that sends the client elsewhere.
struct redirect {
    int status = 0;
    http_method method = http_method::post; ///< That of the request.
    std::string_view location;              ///< The header's value, not empty.
};

/// Decides whether a redirect is followed, with the same method, body and headers: 307 and 308, for
/// a GET also 301 and 302, and only to the same origin, or from http to https on the same host,
/// since the headers hold keys. `from` is the URL of the request. Returns the URL to send it to.
/// The detail of a failure (`redirect`) names the Location without its user name, query and
/// fragment, which may hold keys. It may be long, and may repeat a secret of the request in the
/// path.
[[nodiscard]] transport_result<http_url>
follow_redirect(const http_url& from, const redirect& answer);

} // namespace agui::runner
