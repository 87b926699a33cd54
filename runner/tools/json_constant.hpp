#pragma once

#include "runner/tools/check_budget.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>

namespace agui::runner {

/// The meaning of null members of objects.
enum class null_members { are_values, are_absent };

/// Deepest nesting of a schema and of the constants in it. Generated schemas stay below 20.
inline constexpr std::size_t max_schema_depth = 64;

/// A text that two JSON values share exactly if they are equal: numbers are equal by value, and the
/// order of members does not matter. Nullopt if the text would exceed `max_bytes`, or if the value
/// is nested deeper than max_schema_depth. The cost is bounded by the size of the value and by
/// `max_bytes`; no hash is used. Throws too_much_work.
[[nodiscard]] std::optional<std::string> constant_text(
    const boost::json::value& value, std::size_t max_bytes, null_members nulls, check_budget& budget
);

/// True for a number without a fraction, in any notation.
[[nodiscard]] bool is_whole_number(const boost::json::value& value) noexcept;

} // namespace agui::runner
