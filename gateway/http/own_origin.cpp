#include "gateway/http/own_origin.hpp"

#include "gateway/http/client_address.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>

namespace agui::gateway {
namespace {

constexpr std::string_view https_scheme = "https://";
constexpr std::string_view http_scheme = "http://";

/// The host, with its port if it is not the scheme's usual one.
std::string_view without_usual_port(std::string_view host, std::string_view usual) noexcept {
    return host.ends_with(usual) ? host.substr(0, host.size() - usual.size()) : host;
}

bool is_origin_of(std::string_view origin, std::string_view host, bool plain) noexcept {
    const std::string_view scheme = plain ? http_scheme : https_scheme;
    return !host.empty() && origin.starts_with(scheme) &&
           equal_ignoring_case(
               origin.substr(scheme.size()), without_usual_port(host, plain ? ":80" : ":443")
           );
}

/// The host that a proxy says the client asked for. Empty if there is none, or several.
std::string_view forwarded_host(const http_request& request, bool from_proxy) noexcept {
    const std::string_view host = request.header("x-forwarded-host");
    return from_proxy && host.find(',') == std::string_view::npos ? host : std::string_view();
}

bool is_loopback_host(std::string_view host) {
    return host_allowed(host, {"localhost", "127.0.0.1", "[::1]"});
}

/// True if any proxy, trusted or not, says so: nobody gains by it.
bool is_said_to_be_https(const http_request& request) {
    return std::ranges::any_of(request.headers, [](const auto& each) {
        return (each.first == "x-forwarded-proto" || each.first == "forwarded") &&
               to_lower(each.second).find("https") != std::string::npos;
    });
}

} // namespace

bool is_plain_loopback(
    const boost::asio::ip::address& peer, const http_request& request,
    const access_settings& access, bool from_proxy
) {
    const std::string_view forwarded = forwarded_host(request, from_proxy);
    return is_loopback(peer) &&
           is_loopback_host(forwarded.empty() ? request.header("host") : forwarded) &&
           !request.header("origin").starts_with(https_scheme) && !is_said_to_be_https(request) &&
           !access.public_origin.starts_with(https_scheme);
}

std::optional<std::string_view>
origin_problem(const http_request& request, const access_settings& access, bool from_proxy) {
    if (request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS") {
        return std::nullopt;
    }
    const std::string_view origin = request.header("origin");
    if (origin.empty() || origin == "null") {
        return "With a session's cookie, this request needs an Origin.";
    }
    const bool is_one =
        std::ranges::count(request.headers, std::string_view("origin"), [](const auto& each) {
            return std::string_view(each.first);
        }) == 1;
    const auto is_this = [origin](const std::string& each) {
        return equal_ignoring_case(each, origin);
    };
    if (is_one &&
        (is_this(access.public_origin) || std::ranges::any_of(access.cors_origins, is_this) ||
         is_origin_of(origin, request.header("host"), false) ||
         is_origin_of(origin, forwarded_host(request, from_proxy), false) ||
         (request.plain_loopback && is_origin_of(origin, request.header("host"), true)) ||
         (request.plain_loopback && is_origin_of(origin, forwarded_host(request, from_proxy), true))
        )) {
        return std::nullopt;
    }
    return "With a session's cookie, the Origin must be this server's own or one of "
           "server.cors_origins. Behind a proxy that changes the host, set server.public_url.";
}

} // namespace agui::gateway
