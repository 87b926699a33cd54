#pragma once

#include <boost/json/object.hpp>

#include <string_view>

namespace agui::translator {

/// An event as it is in a log. What is no JSON object gives an empty one, which is no event.
[[nodiscard]] boost::json::object parse_event(std::string_view json);

/// The text of a member, valid as long as the event. Empty: there is none.
[[nodiscard]] std::string_view
string_member(const boost::json::object& event, std::string_view key);

} // namespace agui::translator
