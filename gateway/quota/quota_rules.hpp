#pragma once

#include "session/store/usage.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// `quotas.per`: for whom a quota is counted.
enum class quota_scope { principal, tenant, address };

[[nodiscard]] std::string_view to_string(quota_scope scope) noexcept;

/// The numbers of a [[quotas]]; 0 and nullopt for no limit.
struct quota_limits {
    std::uint32_t requests_per_minute = 0;
    std::uint32_t runs = 0;          ///< Threads with a run at the same time.
    std::uint32_t detached_runs = 0; ///< Of them, those whose readers have left.
    std::uint64_t thread_bytes = 0;  ///< All threads of a principal together.
    session::usage_limits day;
    session::usage_limits month;

    friend bool operator==(const quota_limits&, const quota_limits&) = default;
};

/// One [[quotas]]. Names are written as in a principal (principal_of()).
struct quota_rule {
    quota_scope per = quota_scope::principal;
    std::optional<std::string> principal; ///< Applies to this one only.
    std::optional<std::string> tenant;    ///< Applies to this tenant, or to its principals, only.
    quota_limits limits;
};

/// Who sends a request or asks a model. The address is empty if it is unknown.
struct quota_party {
    std::string_view principal;
    std::string_view address;
};

/// A quota as it applies to a party.
struct applied_quota {
    quota_scope per = quota_scope::principal;
    std::string subject; ///< `principal:NAME`, `tenant:NAME` or `address:ADDRESS`.
    const quota_limits* limits = nullptr;
};

/// The tenant in a principal, as it is written there; empty if it has none.
[[nodiscard]] std::string_view tenant_in(std::string_view principal) noexcept;

/// All [[quotas]]. Immutable, so any thread may use it.
class quota_rules {
public:
    explicit quota_rules(std::vector<quota_rule> rules) : rules_(std::move(rules)) {}

    /// For each scope at most one: the rule that names the principal, otherwise the one that names
    /// its tenant, otherwise the one that names nobody. None for an unknown address or tenant. The
    /// limits live as long as this object.
    [[nodiscard]] std::vector<applied_quota> of(const quota_party& party) const;
    [[nodiscard]] std::optional<applied_quota>
    of(quota_scope scope, const quota_party& party) const;

    [[nodiscard]] bool has(quota_scope scope) const noexcept;

private:
    std::vector<quota_rule> rules_;
};

} // namespace agui::gateway
