#pragma once

#include <boost/json/object.hpp>

#include <string_view>

namespace agui::translator {

/// Parses an event of a log. Text that is not a JSON object gives an empty object.
[[nodiscard]] boost::json::object parse_event(std::string_view json);

/// The text of a member, valid as long as the event; empty if there is none.
[[nodiscard]] std::string_view
string_member(const boost::json::object& event, std::string_view key);

} // namespace agui::translator
