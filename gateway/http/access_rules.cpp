#include "gateway/http/access_rules.hpp"

#include "gateway/http/http_error.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>

namespace agui::gateway {
namespace {

std::string_view trim(std::string_view text) noexcept {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string_view without_port(std::string_view host) noexcept {
    const std::size_t bracket = host.rfind(']');
    const std::size_t colon = host.rfind(':');
    if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
        return host;
    }
    return host.substr(0, colon);
}

/// Calls `visit` with each trimmed element of a list separated by `separator`.
template <class Visitor>
void for_each_element(std::string_view list, char separator, Visitor visit) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(separator), list.size());
        const std::string_view element = trim(list.substr(0, end));
        if (!element.empty()) {
            visit(element);
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
}

bool origin_listed(std::string_view origin, const std::vector<std::string>& origins) {
    return std::ranges::any_of(origins, [origin](const std::string& listed) {
        return equal_ignoring_case(listed, origin);
    });
}

bool is_name_list(std::string_view text) noexcept {
    return text.size() <= 2048 && std::ranges::all_of(text, [](char c) {
               return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == ',' || c == ' ';
           });
}

/// The methods with the one that a preflight asks for.
std::string with_method(std::string_view methods, const http_request& preflight) {
    const std::string_view asked = preflight.header("access-control-request-method");
    bool is_new = is_name_list(asked);
    for_each_element(methods, ',', [&](std::string_view each) {
        is_new = is_new && each != asked;
    });
    std::string all(methods);
    if (is_new) {
        all.append(all.empty() ? "" : ", ").append(asked);
    }
    return all;
}

} // namespace

bool host_allowed(std::string_view host, const std::vector<std::string>& allowed) {
    const std::string_view name = without_port(host);
    return std::ranges::any_of(allowed, [host, name](const std::string& entry) {
        const bool any_port = without_port(entry).size() == entry.size();
        return equal_ignoring_case(entry, any_port ? name : host);
    });
}

std::vector<std::pair<std::string, std::string>>
cors_headers(const http_request& request, const access_settings& access, bool has_sessions) {
    if (access.cors_origins.empty()) {
        return {};
    }
    std::vector<std::pair<std::string, std::string>> headers{{"Vary", "Origin"}};
    const std::string_view origin = request.header("origin");
    if (!origin.empty() && origin_listed(origin, access.cors_origins)) {
        headers.emplace_back("Access-Control-Allow-Origin", origin);
        if (access.cors_credentials || has_sessions) {
            headers.emplace_back("Access-Control-Allow-Credentials", "true");
        }
        headers.emplace_back("Access-Control-Expose-Headers", "Retry-After");
    }
    return headers;
}

bool is_preflight(const http_request& request) {
    return request.method == "OPTIONS" && !request.header("access-control-request-method").empty();
}

http_reply preflight_reply(
    const http_request& request, const std::vector<std::string>& origins, std::string_view methods
) {
    const bool asks = is_preflight(request);
    if (asks && !origin_listed(request.header("origin"), origins)) {
        return to_reply(http_errc::forbidden, "This origin is not listed in server.cors_origins.");
    }
    http_reply reply;
    reply.status = 204;
    reply.content_type.clear();
    if (!methods.empty()) {
        reply.headers.emplace_back("Allow", methods);
    }
    if (asks) {
        reply.headers.emplace_back("Access-Control-Allow-Methods", with_method(methods, request));
        const std::string_view wanted = request.header("access-control-request-headers");
        if (!wanted.empty() && is_name_list(wanted)) {
            reply.headers.emplace_back("Access-Control-Allow-Headers", wanted);
        }
        // An internet page may use a gateway on a private network (WICG, Private Network Access).
        if (request.header("access-control-request-private-network") == "true") {
            reply.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
        }
        reply.headers.emplace_back("Access-Control-Max-Age", "600");
    }
    return reply;
}

bool has_json_type(const http_request& request, std::string_view type) {
    std::size_t count = 0;
    bool json = false;
    for (const auto& [name, value] : request.headers) {
        if (name != "content-type") {
            continue;
        }
        ++count;
        const std::size_t end = std::min(value.find(';'), value.size());
        json = equal_ignoring_case(trim(std::string_view(value).substr(0, end)), type);
        for_each_element(
            std::string_view(value).substr(end), ';',
            [&json](std::string_view parameter) {
                json = json && (equal_ignoring_case(parameter, "charset=utf-8") ||
                                equal_ignoring_case(parameter, "charset=\"utf-8\""));
            }
        );
    }
    return count == 1 && json && request.header("content-encoding").empty();
}

} // namespace agui::gateway
