#include "gateway/auth/caller.hpp"
#include "gateway/config/config_sections.hpp"
#include "gateway/config/config_values.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agui::gateway {
namespace {

constexpr std::int64_t count_max = 1'000'000;
constexpr std::int64_t tokens_max = 1'000'000'000'000;
constexpr std::int64_t thread_bytes_max = 1LL << 50;
/// A greater number of units has no exact millionths as a floating-point number.
constexpr double money_max = 1'000'000;

/// Reads an amount of money as whole millionths. TOML's numbers are read as floating-point ones, of
/// which each with six decimals is nearest to one whole number of millionths.
bool money_value(config_table& table, std::string_view key, std::int64_t& amount, double highest) {
    constexpr double tolerance = 0.01; // Of a millionth; far above the error of the conversion.
    double units = static_cast<double>(amount) / static_cast<double>(micro);
    if (!table.value(key, units, 0, highest)) {
        return false;
    }
    const double exact = units * static_cast<double>(micro);
    const double whole = std::round(exact);
    if (std::abs(exact - whole) > tolerance) {
        table.problem(key, "must have at most six decimal places");
        return false;
    }
    amount = static_cast<std::int64_t>(whole);
    return true;
}

template <class Integer>
void count_value(config_table& table, std::string_view key, Integer& value, std::int64_t highest) {
    if (table.uses(value > 0)) {
        table.number(key, value, 1, highest);
    }
}

void tokens_value(config_table& table, std::string_view key, std::optional<std::int64_t>& value) {
    std::int64_t found = value.value_or(0);
    if (table.uses(value.has_value()) && table.number(key, found, 1, tokens_max)) {
        value = found;
    }
}

void describe_period(config_table& table, session::usage_limits& limits) {
    tokens_value(table, "input_tokens", limits.input_tokens);
    tokens_value(table, "output_tokens", limits.output_tokens);
    std::int64_t cost = limits.micro_cost.value_or(0);
    if (table.uses(limits.micro_cost.has_value()) && money_value(table, "cost", cost, money_max)) {
        limits.micro_cost = cost;
    }
}

void read_name(config_table& table, std::string_view key, std::string& name) {
    if (table.uses(!name.empty()) && table.value(key, name) && !is_caller_name(name)) {
        table.problem(key, "must be one line of 1 to 255 bytes");
    }
}

void describe_price(config_table& table, model_price& price) {
    constexpr double highest = static_cast<double>(price_max) / static_cast<double>(micro);
    money_value(table, "input", price.input, highest);
    money_value(table, "output", price.output, highest);
    if (!money_value(table, "cached_input", price.cached_input, highest) && !table.is_printed()) {
        price.cached_input = price.input;
    }
}

} // namespace

void describe_metering(config_table& table, metering& model) {
    if (table.uses(model.price != model_price())) {
        table.table("price", model.price, describe_price);
    }
    table.number("reserve_output_tokens", model.reserved_output, 1, tokens_max);
}

void describe_quota(config_table& table, quota_config& quota) {
    if (!table.has("per") && !table.is_printed()) {
        table.problem("per", "is missing: must be \"principal\", \"tenant\" or \"address\"");
    }
    table.choice(
        "per", quota.per,
        {{"principal", quota_scope::principal},
         {"tenant", quota_scope::tenant},
         {"address", quota_scope::address}}
    );
    read_name(table, "user", quota.user);
    read_name(table, "tenant", quota.tenant);
    quota_limits& limits = quota.limits;
    count_value(table, "requests_per_minute", limits.requests_per_minute, count_max);
    count_value(table, "runs", limits.runs, count_max);
    count_value(table, "detached_runs", limits.detached_runs, count_max);
    count_value(table, "thread_bytes", limits.thread_bytes, thread_bytes_max);
    if (table.uses(limits.day.any())) {
        table.table("day", limits.day, describe_period);
    }
    if (table.uses(limits.month.any())) {
        table.table("month", limits.month, describe_period);
    }
    if (table.is_printed()) {
        return;
    }
    if (!quota.user.empty() && quota.per != quota_scope::principal) {
        table.problem("user", "needs per = \"principal\"");
    }
    if (!quota.tenant.empty() && quota.per == quota_scope::address) {
        table.problem("tenant", "needs per = \"principal\" or \"tenant\"");
    }
    if (limits.thread_bytes > 0 && quota.per != quota_scope::principal) {
        table.problem("thread_bytes", "needs per = \"principal\": threads belong to principals");
    }
}

} // namespace agui::gateway
