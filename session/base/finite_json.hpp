#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace agui::session {

/// False if the value holds, at any depth, a number that JSON cannot write: a parser makes infinity
/// of `1e400`, which no reader of what is written then takes.
[[nodiscard]] bool is_finite(const boost::json::value& value) noexcept;

/// The arguments that a model or a client wrote for a call. Nothing: no JSON, deeper than
/// `max_depth`, or with a number that cannot be written again.
[[nodiscard]] std::optional<boost::json::value>
parse_arguments(std::string_view text, std::size_t max_depth = 256);

} // namespace agui::session
