#pragma once

#include "gateway/http/http_message.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The checks between a well-formed request and its handler. Values, set once; safe to use from any
/// thread.
struct access_settings {
    /// Exact origins (`https://app.example`) whose pages may read replies; empty: same origin only.
    std::vector<std::string> cors_origins;
    bool cors_credentials = false; ///< Those pages may send cookies and the like.
    /// Host names, with or without a port, that a Host header may carry; empty: any.
    std::vector<std::string> allowed_hosts;
    std::optional<std::string> bearer_token; ///< nullopt: no authentication.
};

/// True if `host` (a Host header's value) names one of `allowed`; an entry without a port allows
/// any.
[[nodiscard]] bool host_allowed(std::string_view host, const std::vector<std::string>& allowed);

/// True if the Authorization header carries the token. Takes the same time wherever the texts
/// differ.
[[nodiscard]] bool bearer_accepted(std::string_view authorization, std::string_view token) noexcept;

/// The headers that let a page of the request's origin read the reply, errors included. Empty
/// without an Origin, or if the origin is not listed.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
cors_headers(const http_request& request, const access_settings& access);

/// The reply to a preflight for a path that serves `methods` ("GET, POST").
[[nodiscard]] http_reply preflight_reply(
    const http_request& request, const std::vector<std::string>& origins, std::string_view methods
);

/// True for exactly one Content-Type of application/json, at most with a charset=utf-8 parameter,
/// and no Content-Encoding.
[[nodiscard]] bool is_json(const http_request& request);

/// False if the Accept header includes neither text/event-stream nor a range that covers it.
[[nodiscard]] bool accepts_event_stream(const http_request& request);

} // namespace agui::gateway
