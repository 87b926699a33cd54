#include "gateway/quota/model_price.hpp"

#include <algorithm>

namespace agui::gateway {

namespace {

constexpr std::int64_t tokens_of_price = 1'000'000;

struct split_cost {
    std::int64_t whole = 0; ///< In millionths.
    std::int64_t rest = 0;  ///< Beyond that, in millionths of a millionth.
};

// Neither product overflows: tokens are at most usage_max, prices at most price_max.
split_cost cost_of_tokens(std::int64_t tokens, std::int64_t price) noexcept {
    const std::int64_t counted = std::clamp<std::int64_t>(tokens, 0, session::usage_max);
    const std::int64_t part = counted % tokens_of_price * price;
    return {counted / tokens_of_price * price + part / tokens_of_price, part % tokens_of_price};
}

} // namespace

std::int64_t cost_of(
    const model_price& price, std::int64_t input, std::int64_t output, std::int64_t cached
) noexcept {
    const std::int64_t from_cache =
        std::clamp<std::int64_t>(cached, 0, std::max<std::int64_t>(input, 0));
    const split_cost parts[] = {
        cost_of_tokens(input - from_cache, price.input),
        cost_of_tokens(from_cache, price.cached_input), cost_of_tokens(output, price.output)
    };
    split_cost all;
    for (const split_cost& each : parts) {
        all.whole += each.whole;
        all.rest += each.rest;
    }
    const std::int64_t rounded_up = (all.rest + tokens_of_price - 1) / tokens_of_price;
    return std::min(all.whole + rounded_up, session::usage_max);
}

std::string money_text(std::int64_t micro_units) {
    const bool is_negative = micro_units < 0;
    const std::int64_t amount = is_negative ? -micro_units : micro_units;
    std::string text = (is_negative ? "-" : "") + std::to_string(amount / micro);
    std::string decimals = std::to_string(micro + amount % micro).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return decimals.empty() ? text : text + "." + decimals;
}

} // namespace agui::gateway
