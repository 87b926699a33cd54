#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <string_view>

namespace agui::runner {

// Members of objects that others wrote: what is absent and what has another type are the same thing.

/// The string member `key`; an empty view if there is none. Lives as long as the object.
[[nodiscard]] inline std::string_view
string_in(const boost::json::object& object, std::string_view key) noexcept {
    const boost::json::value* const member = object.if_contains(key);
    const boost::json::string* const text = member == nullptr ? nullptr : member->if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

/// The object member `key`, or null.
[[nodiscard]] inline const boost::json::object*
object_in(const boost::json::object& object, std::string_view key) noexcept {
    const boost::json::value* const member = object.if_contains(key);
    return member == nullptr ? nullptr : member->if_object();
}

/// The array member `key`, or null.
[[nodiscard]] inline const boost::json::array*
array_in(const boost::json::object& object, std::string_view key) noexcept {
    const boost::json::value* const member = object.if_contains(key);
    return member == nullptr ? nullptr : member->if_array();
}

} // namespace agui::runner
