#include "gateway/quota/quota_rules.hpp"

#include <algorithm>

namespace agui::gateway {

namespace {

constexpr quota_scope all_scopes[] = {
    quota_scope::principal, quota_scope::tenant, quota_scope::address
};

// 0 if the rule does not apply; otherwise the greater, the more precisely it names the party.
int precision_of(const quota_rule& rule, const quota_party& party) {
    if (rule.principal) {
        return *rule.principal == party.principal ? 3 : 0;
    }
    if (rule.tenant) {
        return *rule.tenant == tenant_in(party.principal) ? 2 : 0;
    }
    return 1;
}

std::string_view name_in(quota_scope scope, const quota_party& party) {
    switch (scope) {
    case quota_scope::principal:
        return party.principal;
    case quota_scope::tenant:
        return tenant_in(party.principal);
    case quota_scope::address:
        return party.address;
    }
    return {};
}

} // namespace

std::string_view to_string(quota_scope scope) noexcept {
    switch (scope) {
    case quota_scope::principal:
        return "principal";
    case quota_scope::tenant:
        return "tenant";
    case quota_scope::address:
        return "address";
    }
    return "principal";
}

std::string_view tenant_in(std::string_view principal) noexcept {
    const std::size_t slash = principal.find('/');
    return slash == std::string_view::npos ? std::string_view() : principal.substr(0, slash);
}

std::optional<applied_quota> quota_rules::of(quota_scope scope, const quota_party& party) const {
    const std::string_view name = name_in(scope, party);
    // The empty principal is that of all callers without a name, so it has a quota.
    if (name.empty() && scope != quota_scope::principal) {
        return std::nullopt;
    }
    const quota_rule* best = nullptr;
    int precision = 0;
    for (const quota_rule& rule : rules_) {
        const int own = rule.per == scope ? precision_of(rule, party) : 0;
        if (own > precision) {
            best = &rule;
            precision = own;
        }
    }
    if (best == nullptr) {
        return std::nullopt;
    }
    return applied_quota{
        scope, std::string(to_string(scope)).append(":").append(name), &best->limits
    };
}

std::vector<applied_quota> quota_rules::of(const quota_party& party) const {
    std::vector<applied_quota> all;
    for (const quota_scope scope : all_scopes) {
        if (auto applied = of(scope, party)) {
            all.push_back(std::move(*applied));
        }
    }
    return all;
}

bool quota_rules::has(quota_scope scope) const noexcept {
    return std::ranges::any_of(rules_, [scope](const quota_rule& rule) {
        return rule.per == scope;
    });
}

} // namespace agui::gateway
