#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agui::session {

/// The most members of an object that a protocol defines; real ones have below 30. Objects that
/// belong to users (state, metadata, arguments, schemas, results) may have any number.
inline constexpr std::size_t protocol_members_max = 1024;

/// `toolCallId` as `tool_call_id`.
[[nodiscard]] std::string snake_case(std::string_view camel_case);

/// The member named `key` (in camelCase, at most 31 characters); if it is absent or null, the one
/// with that name in snake_case, which clients that serialise Python models write. nullptr if that
/// is absent or null as well.
[[nodiscard]] const boost::json::value*
find_member(const boost::json::object& object, std::string_view key) noexcept;

} // namespace agui::session
