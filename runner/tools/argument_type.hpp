#pragma once

#include "runner/tools/tool_registry.hpp"

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/describe/modifiers.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/mp11/algorithm.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// The JSON form of a C++ type: its schema, and the conversion of its values in both directions.
// Types are bool, whole and floating numbers, std::string, described enums and structs
// (Boost.Describe), std::optional (null or absent), lists with push_back(), maps whose keys are
// std::string, and the types of Boost.JSON.

namespace agui::runner::detail {

namespace json = boost::json;

template <class T>
concept described_struct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;
template <class T>
concept described_enum = boost::describe::has_describe_enumerators<T>::value;
template <class T>
concept json_list = requires(T list, typename T::value_type each) {
    list.push_back(std::move(each));
    list.begin();
} && !std::is_same_v<T, std::string> && !std::is_same_v<T, json::array>;
template <class T>
concept json_map =
    std::is_same_v<typename T::key_type, std::string> && requires { typename T::mapped_type; };

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class T>
inline constexpr bool is_known = false;
template <class T>
constexpr void refuse_type() {
    static_assert(
        is_known<T>, "this type has no JSON form: describe a struct with BOOST_DESCRIBE_STRUCT and "
                     "an enum with BOOST_DESCRIBE_ENUM, or use a type of Boost.JSON"
    );
}

template <class T>
using described_members = boost::describe::describe_members<
    T, boost::describe::mod_public | boost::describe::mod_inherited>;

/// Calls `visit(name, pointer)` for each data member.
template <described_struct T, class Visit>
void for_each_member(Visit visit) {
    boost::mp11::mp_for_each<described_members<T>>([&](auto member) {
        visit(std::string_view(member.name), member.pointer);
    });
}

template <class T, class Member>
using member_type = std::remove_cvref_t<decltype(std::declval<T&>().*std::declval<Member>())>;

/// A type that contains itself would have an infinite schema.
inline constexpr int schema_depth_max = 16;
[[noreturn]] void refuse_recursive_type();

/// The schema of an object. Properties whose value may be absent are not required.
class object_schema {
public:
    void add(std::string_view name, json::object schema, bool required);
    [[nodiscard]] json::object take();

private:
    json::object properties_;
    json::array required_;
};

template <class T>
[[nodiscard]] json::object schema_of(int depth = 0) {
    if (depth > schema_depth_max) {
        refuse_recursive_type();
    }
    if constexpr (std::is_same_v<T, bool>) {
        return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
        json::object whole{{"type", "integer"}};
        if constexpr (std::is_unsigned_v<T>) {
            whole["minimum"] = 0;
        }
        return whole;
    } else if constexpr (std::is_floating_point_v<T>) {
        return {{"type", "number"}};
    } else if constexpr (std::is_same_v<T, std::string>) {
        return {{"type", "string"}};
    } else if constexpr (std::is_same_v<T, json::value>) {
        return {};
    } else if constexpr (std::is_same_v<T, json::object>) {
        return {{"type", "object"}, {"properties", json::object()}};
    } else if constexpr (std::is_same_v<T, json::array>) {
        return {{"type", "array"}, {"items", json::object()}};
    } else if constexpr (is_optional<T>) {
        return schema_of<typename T::value_type>(depth + 1);
    } else if constexpr (described_enum<T>) {
        json::array names;
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto each) {
            names.emplace_back(each.name);
        });
        return {{"type", "string"}, {"enum", std::move(names)}};
    } else if constexpr (json_list<T>) {
        return {{"type", "array"}, {"items", schema_of<typename T::value_type>(depth + 1)}};
    } else if constexpr (requires { requires json_map<T>; }) {
        return {
            {"type", "object"},
            {"properties", json::object()},
            {"additionalProperties", schema_of<typename T::mapped_type>(depth + 1)}
        };
    } else if constexpr (described_struct<T>) {
        object_schema schema;
        for_each_member<T>([&](std::string_view name, auto pointer) {
            using member = member_type<T, decltype(pointer)>;
            schema.add(name, schema_of<member>(depth + 1), !is_optional<member>);
        });
        return schema.take();
    } else {
        refuse_type<T>();
    }
}

/// Throws tool_error, such as `/city must be a string.`
[[noreturn]] void refuse_argument(std::string_view path, std::string_view rule);

[[nodiscard]] inline std::string path_in(std::string_view path, std::string_view name) {
    return std::string(path) + "/" + std::string(name);
}

template <class T>
[[nodiscard]] T value_of(const json::value& from, std::string_view path);

/// The value of a member that may be absent.
template <class T>
[[nodiscard]] T member_of(const json::object& from, std::string_view name, std::string_view path) {
    const json::value* const found = from.if_contains(name);
    if (found == nullptr && !is_optional<T>) {
        refuse_argument(path_in(path, name), "is missing");
    }
    static const json::value absent;
    return value_of<T>(found == nullptr ? absent : *found, path_in(path, name));
}

template <class T>
[[nodiscard]] T number_of(const json::value& from, std::string_view path) {
    boost::system::error_code wrong;
    const T value = from.to_number<T>(wrong);
    if (wrong) {
        refuse_argument(
            path, !std::is_integral_v<T> ? "must be a number"
                  : from.is_number()     ? "is not a whole number of the range that fits"
                                         : "must be a whole number"
        );
    }
    return value;
}

template <class T>
[[nodiscard]] T enumerator_of(const json::value& from, std::string_view path) {
    const json::string* const name = from.if_string();
    std::optional<T> value;
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto each) {
        if (name != nullptr && *name == each.name) {
            value = each.value;
        }
    });
    if (!value) {
        refuse_argument(path, "must be one of the names that the schema lists");
    }
    return *value;
}

/// Throws tool_error if the value has another type.
template <class T>
T value_of(const json::value& from, std::string_view path) {
    const auto expect = [&](const auto* held, std::string_view rule) -> const auto& {
        if (held == nullptr) {
            refuse_argument(path, rule);
        }
        return *held;
    };
    if constexpr (std::is_same_v<T, bool>) {
        return expect(from.if_bool(), "must be true or false");
    } else if constexpr (std::is_arithmetic_v<T>) {
        return number_of<T>(from, path);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return std::string(expect(from.if_string(), "must be a string"));
    } else if constexpr (std::is_same_v<T, json::value>) {
        return from;
    } else if constexpr (std::is_same_v<T, json::object>) {
        return expect(from.if_object(), "must be an object");
    } else if constexpr (std::is_same_v<T, json::array>) {
        return expect(from.if_array(), "must be an array");
    } else if constexpr (is_optional<T>) {
        return from.is_null() ? T() : T(value_of<typename T::value_type>(from, path));
    } else if constexpr (described_enum<T>) {
        return enumerator_of<T>(from, path);
    } else if constexpr (json_list<T>) {
        T list;
        std::size_t index = 0;
        for (const json::value& each : expect(from.if_array(), "must be an array")) {
            list.push_back(
                value_of<typename T::value_type>(each, path_in(path, std::to_string(index++)))
            );
        }
        return list;
    } else if constexpr (requires { requires json_map<T>; }) {
        T map;
        for (const auto& [key, each] : expect(from.if_object(), "must be an object")) {
            map.emplace(key, value_of<typename T::mapped_type>(each, path_in(path, key)));
        }
        return map;
    } else if constexpr (described_struct<T>) {
        const json::object& object = expect(from.if_object(), "must be an object");
        T made{};
        for_each_member<T>([&](std::string_view name, auto pointer) {
            made.*pointer = member_of<member_type<T, decltype(pointer)>>(object, name, path);
        });
        return made;
    } else {
        refuse_type<T>();
    }
}

/// A whole number is written without a fraction. Infinity and NaN become null, because JSON has
/// neither.
[[nodiscard]] json::value json_number(double value);

template <class T>
[[nodiscard]] json::value json_of(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
        return json_number(static_cast<double>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
        return json::value(value);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
        return json::value(std::string_view(value));
    } else if constexpr (is_optional<T>) {
        return value ? json_of(*value) : json::value();
    } else if constexpr (described_enum<T>) {
        json::value name(static_cast<std::int64_t>(value));
        boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto each) {
            if (each.value == value) {
                name = each.name;
            }
        });
        return name;
    } else if constexpr (std::is_convertible_v<T, json::value>) {
        return value;
    } else if constexpr (json_list<T>) {
        json::array list;
        for (const auto& each : value) {
            list.push_back(json_of<typename T::value_type>(each));
        }
        return list;
    } else if constexpr (requires { requires json_map<T>; }) {
        json::object map;
        for (const auto& [key, each] : value) {
            map.emplace(key, json_of(each));
        }
        return map;
    } else if constexpr (described_struct<T>) {
        json::object object;
        for_each_member<T>([&](std::string_view name, auto pointer) {
            object.emplace(name, json_of(value.*pointer));
        });
        return object;
    } else {
        refuse_type<T>();
    }
}

} // namespace agui::runner::detail
