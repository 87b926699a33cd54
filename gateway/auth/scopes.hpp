#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// A kind of request that a caller may be allowed. A caller sees only the threads of its own
/// principal, whatever its scopes are.
enum class scope : std::uint8_t {
    run,     ///< Begin, stop and steer runs; change the state of a thread.
    read,    ///< Read threads, runs and events.
    delete_, ///< `delete`: delete threads.
    approve, ///< Answer approvals and other interrupts.
    admin,   ///< The console. Includes all other scopes.
};

inline constexpr std::array<scope, 5> all_scopes{
    scope::run, scope::read, scope::delete_, scope::approve, scope::admin
};

[[nodiscard]] std::string_view to_string(scope what) noexcept;

/// The scopes of one caller. `run` and `approve` may be limited to agents: `agents:{id}:run`.
class scope_set {
public:
    /// Holds nothing.
    scope_set() = default;
    /// Holds every scope, for all agents.
    [[nodiscard]] static scope_set everything();

    /// Adds a scope by its text, `run` or `agents:{id}:run`. Returns false, and adds nothing, if
    /// there is no such scope. A caller may have at most `agents_max` scopes for single agents.
    bool add(std::string_view text);
    static constexpr std::size_t agents_max = 256;
    /// Adds all known scopes of a list separated by spaces (RFC 6749, 3.3). Returns the first one
    /// that add() refuses, if any: an issuer's tokens also hold scopes of other services.
    std::optional<std::string_view> add_list(std::string_view list);

    /// True if it holds the scope for all agents.
    [[nodiscard]] bool allows(scope what) const noexcept;
    /// True if it holds the scope for that agent or for all of them.
    [[nodiscard]] bool allows(scope what, std::string_view agent) const noexcept;
    /// True if it holds the scope for at least one agent. Decides before the agent is known.
    [[nodiscard]] bool may_allow(scope what) const noexcept;

    /// All scopes by their texts, sorted; add() reads each.
    [[nodiscard]] std::vector<std::string> texts() const;
    /// The number of its scopes that are limited to single agents.
    [[nodiscard]] std::size_t agent_scopes() const noexcept { return of_agents_.size(); }
    [[nodiscard]] bool empty() const noexcept { return held_ == 0 && of_agents_.empty(); }

    friend bool operator==(const scope_set&, const scope_set&) = default;

private:
    struct of_agent {
        scope what;
        std::string agent;
        friend bool operator==(const of_agent&, const of_agent&) = default;
    };

    std::uint8_t held_ = 0; ///< One bit for each scope.
    std::vector<of_agent> of_agents_;
};

} // namespace agui::gateway
