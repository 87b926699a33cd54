#pragma once

#include "session/store/usage.hpp"

#include <cstdint>
#include <string>

namespace agui::gateway {

/// `models.NAME.price`: the price of a million tokens, in millionths of the operator's unit of
/// currency. Everything is counted in whole numbers, so that sums are exact.
struct model_price {
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t cached_input = 0; ///< Of the input tokens that the server had in its cache.

    friend bool operator==(const model_price&, const model_price&) = default;
};

/// Limit of each member of model_price: 100 000 units for a million tokens.
inline constexpr std::int64_t price_max = 100'000'000'000;
/// Decimal places of amounts of money.
inline constexpr int money_decimals = 6;
inline constexpr std::int64_t micro = 1'000'000; ///< Millionths of a unit.

/// What a call costs, rounded up to a whole millionth and at most session::usage_max. Of the input
/// tokens, `cached` were cached.
[[nodiscard]] std::int64_t cost_of(
    const model_price& price, std::int64_t input, std::int64_t output, std::int64_t cached = 0
) noexcept;

/// The part of a model's configuration that is about quotas.
struct metering {
    model_price price;
    /// Output tokens that are reserved for a call without max_output_tokens.
    std::int64_t reserved_output = 4096;

    friend bool operator==(const metering&, const metering&) = default;
};

/// `0.0125`: a decimal number of units without needless zeros.
[[nodiscard]] std::string money_text(std::int64_t micro_units);

} // namespace agui::gateway
