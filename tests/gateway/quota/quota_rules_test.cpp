#include "gateway/quota/quota_rules.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace agui::gateway {
namespace {

quota_rule rule_of(
    quota_scope per, std::uint32_t runs, std::optional<std::string> principal = {},
    std::optional<std::string> tenant = {}
) {
    quota_rule rule;
    rule.per = per;
    rule.principal = std::move(principal);
    rule.tenant = std::move(tenant);
    rule.limits.runs = runs;
    return rule;
}

TEST(QuotaRules, TheMostPreciseRuleApplies) {
    const quota_rules rules(
        {rule_of(quota_scope::principal, 3, {}, "acme"),
         rule_of(quota_scope::principal, 9, "acme/ada"), rule_of(quota_scope::principal, 1)}
    );
    const auto runs_of = [&rules](std::string_view principal) {
        return rules.of(quota_scope::principal, {principal, {}})->limits->runs;
    };

    EXPECT_EQ(runs_of("eve"), 1U);
    EXPECT_EQ(runs_of("acme/eve"), 3U);
    EXPECT_EQ(runs_of("acme/ada"), 9U);
    EXPECT_EQ(runs_of("ada"), 1U) << "a user without a tenant is another one";
    EXPECT_EQ(runs_of("acme%2Fada"), 1U);
    EXPECT_EQ(runs_of(""), 1U) << "all callers without a name are one principal";
}

TEST(QuotaRules, NoRuleAppliesToAnUnknownTenantOrAddress) {
    const quota_rules rules({rule_of(quota_scope::tenant, 1), rule_of(quota_scope::address, 1)});

    EXPECT_TRUE(rules.of({"eve", {}}).empty());
    EXPECT_EQ(rules.of({"acme/eve", {}}).at(0).subject, "tenant:acme");
    EXPECT_EQ(rules.of({"eve", "192.0.2.1"}).at(0).subject, "address:192.0.2.1");
}

TEST(QuotaRules, ATenantMayBeNamed) {
    const quota_rules rules({rule_of(quota_scope::tenant, 5, {}, "acme")});

    EXPECT_EQ(rules.of({"acme/eve", {}}).size(), 1U);
    EXPECT_TRUE(rules.of({"other/eve", {}}).empty());
}

} // namespace
} // namespace agui::gateway
