#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <string_view>

namespace agui::session {

/// `toolCallId` as `tool_call_id`.
[[nodiscard]] std::string snake_case(std::string_view camel_case);

/// The member, or nullptr if it is absent or null. If the camelCase name is absent, the snake_case
/// one is looked up: clients that serialise Python models write that.
[[nodiscard]] const boost::json::value*
find_member(const boost::json::object& object, std::string_view key) noexcept;

} // namespace agui::session
