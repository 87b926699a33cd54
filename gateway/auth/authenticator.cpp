#include "gateway/auth/authenticator.hpp"

#include "gateway/auth/session_cookie.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>
#include <stdexcept>

namespace agui::gateway {

std::optional<std::string_view> presented_head::only(std::string_view name) const noexcept {
    const auto found = std::ranges::find(headers, name, &header::first);
    if (found == headers.end() ||
        std::find_if(found + 1, headers.end(), [name](const header& each) {
            return each.first == name;
        }) != headers.end()) {
        return std::nullopt;
    }
    return std::string_view(found->second);
}

bool presented_head::has(std::string_view name) const noexcept {
    return std::ranges::find(headers, name, &header::first) != headers.end();
}

std::optional<std::string_view> bearer_in(const presented_head& head) noexcept {
    constexpr std::string_view scheme = "bearer ";
    const auto value = head.only("authorization");
    if (!value || value->size() < scheme.size() ||
        !equal_ignoring_case(value->substr(0, scheme.size()), scheme)) {
        return std::nullopt;
    }
    std::string_view token = value->substr(scheme.size());
    token.remove_prefix(std::min(token.find_first_not_of(" \t"), token.size()));
    token = token.substr(0, token.find_last_not_of(" \t") + 1);
    return token.empty() ? std::nullopt : std::optional(token);
}

std::optional<std::string_view> session_of(const presented_head& head) noexcept {
    return head.has("authorization") ? std::nullopt : session_cookies::find(head);
}

auth_result authenticator::recall(caller /*remembered*/) const {
    return auth_error{
        auth_error::kind::invalid, "The session is not valid any more: begin another one."
    };
}

void throw_exception_from_error(
    const auth_error& error, const boost::source_location& /*where*/
) {
    throw std::runtime_error(error.detail);
}

std::string challenge_of(const auth_error& error) {
    switch (error.what) {
    case auth_error::kind::invalid:
        return R"(Bearer error="invalid_token")";
    case auth_error::kind::forbidden:
        // An agent's id may hold quotes, so it is named in the body only.
        return R"(Bearer error="insufficient_scope", scope=")" +
               error.scope.substr(error.scope.rfind(':') + 1) + '"';
    case auth_error::kind::unnamed:
        return "";
    case auth_error::kind::missing:
    case auth_error::kind::unavailable:
        break;
    }
    return "Bearer";
}

auth_error missing_scope(scope needed, std::string_view agent) {
    std::string name(to_string(needed));
    if (!agent.empty()) {
        name = "agents:" + std::string(agent) + ":" + name;
    }
    std::string detail = "This needs the scope \"" + name + "\".";
    return {auth_error::kind::forbidden, std::move(detail), std::move(name)};
}

} // namespace agui::gateway
