#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string_view>

namespace agui::session {

/// False if the value holds, at any depth, a number that JSON cannot express: a parser may read
/// `1e400` as infinity, and no reader accepts the JSON that is then written.
[[nodiscard]] bool is_finite(const boost::json::value& value) noexcept;
[[nodiscard]] bool is_finite(const boost::json::object& members) noexcept;

/// The arguments that a model or a client wrote for a call. nullopt if the text is not JSON, is
/// nested deeper than `max_depth` or holds a number that JSON cannot express.
[[nodiscard]] std::optional<boost::json::value>
parse_arguments(std::string_view text, std::size_t max_depth = 256);

/// True if parse_arguments() reads the text as an object. Builds no values.
[[nodiscard]] bool is_arguments_object(std::string_view text, std::size_t max_depth = 256);

} // namespace agui::session
