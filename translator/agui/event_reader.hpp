#pragma once

#include <boost/json/object.hpp>

#include <string_view>

namespace agui::translator {

/// Parses an event of a log. The result is empty if the text is not a JSON object.
[[nodiscard]] boost::json::object parse_event(std::string_view json);

} // namespace agui::translator
