#pragma once

#include "gateway/auth/authenticator.hpp"
#include "gateway/auth/scopes.hpp"
#include "session/conversation/thread_access.hpp"

#include <optional>

namespace agui::gateway {

/// The condition for using a route. It has no default, so a row of the table of routes that does
/// not state it does not compile.
class route_access {
public:
    /// Everybody, without authentication.
    [[nodiscard]] static constexpr route_access open() noexcept {
        return route_access(kind::open, std::nullopt);
    }
    /// Every authenticated caller, whatever its scopes.
    [[nodiscard]] static constexpr route_access known() noexcept {
        return route_access(kind::callers, std::nullopt);
    }
    /// Callers with that scope for all agents.
    [[nodiscard]] static constexpr route_access needs(scope what) noexcept {
        return route_access(kind::callers, what);
    }
    /// Callers with that scope for at least one agent. The handler checks the agent.
    [[nodiscard]] static constexpr route_access needs_for_agent(scope what) noexcept {
        return route_access(kind::callers_of_agent, what);
    }
    /// Callers with that scope for the agent of the thread that the request names, which
    /// find_named_thread() checks: the agent of the thread's latest run.
    [[nodiscard]] static constexpr route_access needs_for_agent_of_thread(scope what) noexcept {
        return route_access(kind::callers_of_thread_agent, what);
    }
    /// Other gateways, which authenticate with this process's secret instead of a token. Such a
    /// route is served whatever the Host header says and by every connection, which is then exempt
    /// from limits.
    [[nodiscard]] static constexpr route_access peers() noexcept {
        return route_access(kind::peers, std::nullopt);
    }

    /// The same, but not for threads of others, whatever these have opened.
    [[nodiscard]] constexpr route_access of_owner() const noexcept {
        route_access same = *this;
        same.is_of_owner_ = true;
        return same;
    }

    [[nodiscard]] constexpr bool is_open() const noexcept { return kind_ == kind::open; }
    [[nodiscard]] constexpr bool is_for_peers() const noexcept { return kind_ == kind::peers; }
    /// The scope that a caller needs, if any.
    [[nodiscard]] constexpr std::optional<scope> needed() const noexcept { return needed_; }

    /// True if the scope for single agents is not enough.
    [[nodiscard]] constexpr bool needs_all_agents() const noexcept {
        return kind_ == kind::callers;
    }
    /// The scope that a caller needs for the agent of the thread, if any.
    [[nodiscard]] constexpr std::optional<scope> needed_for_agent_of_thread() const noexcept {
        return kind_ == kind::callers_of_thread_agent ? needed_ : std::nullopt;
    }
    /// The right that a caller needs in a thread of another principal, which follows from the
    /// scope: to read for scope::read, to write for scope::run. nullopt for all other routes: they
    /// serve the owner of a thread alone.
    [[nodiscard]] constexpr std::optional<session::access_right> right() const noexcept {
        if (is_of_owner_ || !needed_) {
            return std::nullopt;
        }
        if (*needed_ == scope::read) {
            return session::access_right::read;
        }
        return *needed_ == scope::run ? std::optional(session::access_right::write) : std::nullopt;
    }

    /// The refusal of a caller; nullopt if it may use the route. A null caller may use open routes
    /// alone.
    [[nodiscard]] std::optional<auth_error> refuses(const caller* who) const;

private:
    enum class kind { open, callers, callers_of_agent, callers_of_thread_agent, peers };
    constexpr route_access(kind what, std::optional<scope> needed) noexcept
        : kind_(what), needed_(needed) {}

    kind kind_;
    std::optional<scope> needed_;
    bool is_of_owner_ = false;
};

} // namespace agui::gateway
