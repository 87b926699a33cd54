#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui {

/// Completes the beginning of a JSON text: an open string ends where the text does, a member or
/// element that is not complete is left out, and all brackets are closed. Gives any text for one
/// that is not the beginning of JSON.
[[nodiscard]] std::string complete_json(std::string_view beginning);

/// The value of the beginning of a JSON text, as far as it is known; nullopt if it is not the
/// beginning of an object or an array, or is nested deeper than `max_depth`.
[[nodiscard]] std::optional<boost::json::value>
parse_partial(std::string_view beginning, std::size_t max_depth = 64);

} // namespace agui
