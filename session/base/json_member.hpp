#pragma once

#include "session/base/error.hpp"

#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agui {

/// The text of the member; empty if it is absent or not a string. A view into `object`.
[[nodiscard]] inline std::string_view
string_in(const boost::json::object& object, std::string_view key) noexcept {
    const boost::json::value* const value = object.if_contains(key);
    const boost::json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

} // namespace agui

namespace agui::session {

/// Limit of the members of an object that a protocol defines; such objects have below 30. Objects
/// that belong to users (state, metadata, arguments, schemas, results) may have any number.
inline constexpr std::size_t protocol_members_max = 1024;

/// errc::invalid_input, with a text for the sender, if the object exceeds protocol_members_max.
[[nodiscard]] result<void> check_protocol_object(const boost::json::object& object);

/// `toolCallId` as `tool_call_id`.
[[nodiscard]] std::string snake_case(std::string_view camel_case);

/// The member named `key` (in camelCase, at most 31 characters); if it is absent or null, the one
/// with that name in snake_case, which clients that serialize Python models write. nullptr if that
/// is absent or null as well.
[[nodiscard]] const boost::json::value*
find_member(const boost::json::object& object, std::string_view key) noexcept;

} // namespace agui::session
