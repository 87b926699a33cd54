#pragma once

#include "session/base/json_member.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace agui::runner {

// Members of objects from outside. A member of the wrong type counts as absent.

/// The members with these names, null where absent. One pass over the object is cheaper than a
/// search for each name, which would be the largest cost of a token here.
template <std::size_t Count>
[[nodiscard]] std::array<const boost::json::value*, Count> members_of(
    const boost::json::object& object, const std::array<std::string_view, Count>& names
) noexcept {
    std::array<const boost::json::value*, Count> found{};
    for (const auto& member : object) {
        const std::string_view key(member.key().data(), member.key().size());
        for (std::size_t i = 0; i < Count; ++i) {
            if (names[i] == key) {
                found[i] = &member.value();
                break;
            }
        }
    }
    return found;
}

/// The text of a string; empty for anything else, null included.
[[nodiscard]] inline std::string_view text_of(const boost::json::value* value) noexcept {
    const boost::json::string* const text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

/// The object or array that the value is; null for any other value.
[[nodiscard]] inline const boost::json::object* object_of(const boost::json::value* value
) noexcept {
    return value == nullptr ? nullptr : value->if_object();
}
[[nodiscard]] inline const boost::json::array* array_of(const boost::json::value* value) noexcept {
    return value == nullptr ? nullptr : value->if_array();
}

/// An integer, or a double with an integer value: servers written in JavaScript or Lua may print
/// counts as 12.0. nullopt for any other value, including null.
[[nodiscard]] inline std::optional<std::int64_t> integer_of(const boost::json::value* value
) noexcept {
    if (value == nullptr) {
        return std::nullopt;
    }
    if (const std::int64_t* const number = value->if_int64()) {
        return *number;
    }
    const double* const number = value->if_double();
    constexpr double exact_max = 9007199254740992.0;
    if (number != nullptr && std::abs(*number) <= exact_max && std::floor(*number) == *number) {
        return static_cast<std::int64_t>(*number);
    }
    return std::nullopt;
}

/// The object member `key`, or null.
[[nodiscard]] inline const boost::json::object*
object_in(const boost::json::object& object, std::string_view key) noexcept {
    return object_of(object.if_contains(key));
}

/// The array member `key`, or null.
[[nodiscard]] inline const boost::json::array*
array_in(const boost::json::object& object, std::string_view key) noexcept {
    return array_of(object.if_contains(key));
}

} // namespace agui::runner
