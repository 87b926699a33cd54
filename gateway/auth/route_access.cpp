#include "gateway/auth/route_access.hpp"

namespace agui::gateway {

std::optional<auth_error> route_access::refuses(const caller* who) const {
    if (is_open()) {
        return std::nullopt;
    }
    if (who == nullptr || is_for_peers()) {
        return auth_error{auth_error::kind::missing, "This route needs an authenticated caller."};
    }
    const bool is_of_agent =
        kind_ == kind::callers_of_agent || kind_ == kind::callers_of_thread_agent;
    const bool is_allowed =
        !needed_ || (is_of_agent ? who->scopes.may_allow(*needed_) : who->scopes.allows(*needed_));
    return is_allowed ? std::nullopt : std::optional(missing_scope(*needed_));
}

} // namespace agui::gateway
