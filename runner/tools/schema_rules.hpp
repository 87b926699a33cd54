#pragma once

#include "session/base/error.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// A JSON Schema in the form that argument_schema checks: one value_rules for each subschema. The
/// rules refer to each other by index, so that references need no copies and the whole is about as
/// large as the text.

/// Index of a subschema; 0 is the root.
using rule_index = std::uint32_t;
inline constexpr rule_index no_rule = std::numeric_limits<rule_index>::max();

/// JSON types as bits. A whole number is both integer and number.
enum json_type : std::uint8_t {
    type_null = 1,
    type_boolean = 2,
    type_string = 4,
    type_integer = 8,
    type_number = 16,
    type_array = 32,
    type_object = 64,
    any_type = 127,
};

struct size_limits {
    std::size_t least = 0;
    std::size_t most = std::numeric_limits<std::size_t>::max();

    bool operator==(const size_limits&) const = default;
};

/// A null value means no limit.
struct number_limits {
    boost::json::value least, most, above, below;
    boost::json::value multiple_of; ///< int64
};

/// The values of `enum` or `const`, each as constant_text().
struct constants {
    std::vector<std::string> texts; ///< Sorted.
    std::size_t longest = 0;        ///< In bytes.
};

/// A member name that the schema mentions.
struct known_member {
    std::string name;
    rule_index rule = no_rule; ///< From `properties`.
    bool is_required = false;
};

/// Members, or a rule, that are required if `member` is present. The members are indices of
/// object_rules::members.
struct member_dependency {
    std::size_t member = 0;
    std::vector<std::size_t> needed;
    rule_index rule = no_rule; ///< Rule for the object as a whole.
};

struct object_rules {
    std::vector<known_member> members; ///< Sorted by name.
    std::size_t required = 0;          ///< Number of members that are required.
    std::vector<member_dependency> dependencies;
    rule_index others = no_rule; ///< `additionalProperties`
};

struct array_rules {
    std::vector<rule_index> first; ///< `items`, if it is a list.
    rule_index others = no_rule;   ///< `items` that is one schema, or `additionalItems`.
    rule_index contains = no_rule;
};

struct combined_rules {
    std::vector<rule_index> all_of, any_of, one_of;
    rule_index negated = no_rule;   ///< `not`
    rule_index condition = no_rule; ///< `if`
    rule_index then = no_rule;
    rule_index otherwise = no_rule; ///< `else`
};

/// One subschema. A null pointer means that it has no rules of that kind.
struct value_rules {
    rule_index reference = no_rule; ///< The rules are those of this subschema.
    std::uint8_t types = any_type;
    bool refuses_all = false; ///< The schema `false`.
    size_limits characters, items, members;
    std::unique_ptr<number_limits> numbers;
    std::unique_ptr<constants> constant; ///< `const`
    std::unique_ptr<constants> choice;   ///< `enum`
    std::unique_ptr<object_rules> object;
    std::unique_ptr<array_rules> array;
    std::unique_ptr<combined_rules> combined;
};

struct schema_rules {
    std::vector<value_rules> rules;
    /// A part of the schema is ignored. An apparent failure of a part may then be none, so `not`
    /// and `if` must be skipped, and oneOf is checked as anyOf.
    bool is_loose = false;
};

/// Each subschema takes a few hundred bytes. Generated schemas have fewer than 1 000.
inline constexpr std::size_t max_schema_subschemas = 10'000;

/// Compiles a schema. Time and memory grow with the size of the schema, times a logarithm.
/// errc::invalid_input, with a detail without text of the schema, if it is malformed, nested too
/// deeply, has more than `max_subschemas` (equal ones without rules count once), or has a reference
/// that is circular or does not lead to one of its own subschemas.
[[nodiscard]] result<schema_rules> compile_schema_rules(
    const boost::json::value& schema, std::size_t max_subschemas = max_schema_subschemas
);

} // namespace agui::runner
