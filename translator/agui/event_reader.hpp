#pragma once

#include <boost/json/object.hpp>

#include <string_view>

namespace agui::translator {

/// Parses an event of a log. The result is empty if the text is not a JSON object.
[[nodiscard]] boost::json::object parse_event(std::string_view json);

/// The text of a member: a view into `event`. Empty if the member is absent or not a string.
[[nodiscard]] std::string_view
string_member(const boost::json::object& event, std::string_view key);

} // namespace agui::translator
