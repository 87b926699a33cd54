#pragma once

#include "session/base/error.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Shared by the readers of a request's parts. Internal to the translator.
namespace agui::translator {

/// The member, or null if it is absent or null, which means the same. `key` is in camelCase. If it
/// is absent, its snake_case spelling is looked up, which some clients write (`model_dump()` of the
/// Python package, Microsoft's client).
[[nodiscard]] const boost::json::value*
find_member(const boost::json::object& object, std::string_view key) noexcept;

/// `key`, or its snake_case spelling if the object has that one.
[[nodiscard]] std::string given_spelling(const boost::json::object& object, std::string_view key);

/// invalid_input at `path`; `what` states the expectation (`must be a string`).
[[nodiscard]] failure invalid_input(std::string path, std::string_view what);

/// `messages` and 2 → `messages[2]`
[[nodiscard]] std::string indexed(std::string_view path, std::size_t index);

/// `messages[2]` and `id` → `messages[2].id`
[[nodiscard]] std::string joined(std::string_view path, std::string_view key);

/// The member's text; nullopt if it is absent or null; invalid_input if it is not a string.
[[nodiscard]] result<std::optional<std::string>>
read_text(const boost::json::object& object, std::string_view key, std::string_view path);

/// The member's text; also invalid_input if it is missing.
[[nodiscard]] result<std::string>
read_required_text(const boost::json::object& object, std::string_view key, std::string_view path);

/// The value as an array; invalid_input at `path` otherwise.
[[nodiscard]] result<const boost::json::array*>
read_array(const boost::json::value& value, std::string_view path);

/// The value as an object; invalid_input at `path` otherwise.
[[nodiscard]] result<const boost::json::object*>
read_object(const boost::json::value& value, std::string_view path);

/// invalid_input if the id is too long or not sound (is_sound_id): ids become keys, log fields and
/// header values.
[[nodiscard]] result<void>
check_id(std::string_view id, std::string_view path, std::size_t max_bytes);

/// The id in the body's member; empty if it is absent, null or empty. invalid_input if it is not a
/// string, and as check_id().
[[nodiscard]] result<std::string>
read_id(const boost::json::object& body, std::string_view key, std::size_t max_bytes);

/// Adds a note. After the 50th, only one says that there were more: the client controls their
/// number.
void add_note(std::vector<std::string>& notes, std::string_view path, std::string_view what);

} // namespace agui::translator
