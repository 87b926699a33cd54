#pragma once

#include "session/base/error.hpp"

#include <boost/json/value.hpp>

#include <string_view>

namespace agui::runner {

/// An extra member of every subschema, inside the first element of its `allOf`, which a validator
/// meets before it goes any deeper.
inline constexpr std::string_view schema_step_key = "agui-step";

/// The part of a JSON Schema that is checked, see argument_schema, with schema_step_key in each
/// subschema, and with numbers as comparable_numbers() writes them. errc::invalid_input if the
/// schema is nested too deeply, refers to anything but a subschema of its own, or refers in a
/// circle.
[[nodiscard]] result<boost::json::value> checked_subset(const boost::json::value& schema);

/// The value with one spelling for each number: 5.0 becomes 5, and a whole number beyond int64 its
/// nearest limit.
[[nodiscard]] boost::json::value comparable_numbers(const boost::json::value& value);

} // namespace agui::runner
