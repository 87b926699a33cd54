#pragma once

#include "runner/tools/check_budget.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace agui::runner {

/// What null members of objects mean.
enum class null_members { are_values, are_absent };

/// Deepest nesting of a schema and of the constants in it. Generated schemas stay below 20.
inline constexpr std::size_t max_schema_depth = 64;

/// A text that equal JSON values have in common, and no others: numbers are equal by value, and the
/// order of members does not matter. nullopt if the text would exceed `max_bytes`, or if the value
/// is nested deeper than max_schema_depth. Costs at most as much as the shorter of value and
/// `max_bytes`, and uses no hash. Throws too_much_work.
[[nodiscard]] std::optional<std::string> constant_text(
    const boost::json::value& value, std::size_t max_bytes, null_members nulls, check_budget& budget
);

/// True for a number without a fraction, however it is written.
[[nodiscard]] bool is_whole_number(const boost::json::value& value) noexcept;

} // namespace agui::runner
