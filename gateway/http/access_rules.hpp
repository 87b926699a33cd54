#pragma once

#include "gateway/http/http_message.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// Settings of the access checks between a well-formed request and its handler. Set once, then
/// shared by all threads.
struct access_settings {
    /// Exact origins (`https://app.example`) whose pages may read replies. If empty, only the same
    /// origin.
    std::vector<std::string> cors_origins;
    bool cors_credentials = false; ///< Those pages may send cookies and other credentials.
    /// The origin of `server.public_url`; empty if that is not set.
    std::string public_origin{};
    /// Host names, with or without a port, that a Host header may carry. Empty allows any.
    std::vector<std::string> allowed_hosts;
};

/// True if `host` (the value of a Host header) names one of `allowed`. An entry without a port
/// allows any port.
[[nodiscard]] bool host_allowed(std::string_view host, const std::vector<std::string>& allowed);

/// The headers that let a page of the request's origin read the reply, errors included. None if no
/// origin is listed at all; only Vary if the request's Origin is missing or not listed. While there
/// are sessions, a listed page may send their cookies whatever cors_credentials says.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
cors_headers(const http_request& request, const access_settings& access, bool has_sessions);

/// True for an OPTIONS request by which a browser asks before a page's request (CORS).
[[nodiscard]] bool is_preflight(const http_request& request);

/// The reply to an OPTIONS request for a path that serves `methods` ("GET, POST"; empty if there is
/// nothing at the path). A preflight from an origin that is not listed is forbidden. Otherwise the
/// method that it asks for is allowed even if the path does not serve it: a page can read the
/// refusal of its request, but not that of a preflight.
[[nodiscard]] http_reply preflight_reply(
    const http_request& request, const std::vector<std::string>& origins, std::string_view methods
);

/// The media type of a JSON Patch (RFC 6902, 6).
inline constexpr std::string_view json_patch_type = "application/json-patch+json";

/// True for exactly one Content-Type, which is `type` with no parameter but charset=utf-8, and no
/// Content-Encoding.
[[nodiscard]] bool has_json_type(const http_request& request, std::string_view type);

} // namespace agui::gateway
