#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace agui::test {

/// A tool's schema, and arguments for it, in numbers. `size` of texts_of() multiplies the numbers
/// marked with *. The arguments hold a list of values, and the schema says of each value:
struct schema_shape {
    std::string name;
    unsigned required = 0;      ///< * names
    unsigned properties = 0;    ///< *
    unsigned numbers = 0;       ///< * of `enum`
    unsigned texts = 0;         ///< * of `enum`
    unsigned constant = 0;      ///< * members of the object of `const`
    unsigned dependencies = 0;  ///< * each on three names
    unsigned alternatives = 0;  ///< * of anyOf, the last of which fits
    unsigned exclusive = 0;     ///< * of oneOf, none of which fits
    unsigned all = 0;           ///< * of allOf
    unsigned first_items = 0;   ///< * of a list of `items`
    unsigned fan = 0;           ///< references at each of the levels to the next one
    unsigned levels = 0;        ///< of definitions
    unsigned nested = 0;        ///< levels of `not` and anyOf, within each other
    unsigned unknown = 0;       ///< * members that the checker does not know
    unsigned values = 1;        ///< * of the list
    unsigned kind = 0;          ///< of a value: see value_kinds
    unsigned members = 0;       ///< of a value that is an object
    unsigned first_members = 0; ///< * of the first value, if it is an object
    unsigned name_bytes = 0;    ///< * that all names begin with
    unsigned text_bytes = 0;    ///< * of the first text
    unsigned depth = 0;         ///< levels around the list
    bool contains = false;      ///< all that in `contains`
    bool others = false;        ///< all that in additionalProperties too, recursively
    bool at_root = false;       ///< all that for the arguments themselves too
};

/// Kinds of values: empty object, number, text, object, object of nulls, list of numbers, nested
/// objects.
inline constexpr unsigned value_kinds = 7;

struct schema_texts {
    std::string schema, arguments;
};

[[nodiscard]] schema_texts texts_of(const schema_shape& shape, unsigned size);

/// The largest size whose texts have at most that many bytes together.
[[nodiscard]] unsigned size_within(const schema_shape& shape, std::size_t bytes);

/// The most expensive shapes, written by hand or found by tests/bench/shape_search.
[[nodiscard]] std::vector<schema_shape> worst_schema_shapes();

[[nodiscard]] schema_shape random_schema_shape(std::uint32_t seed);

/// Writes a shape as text for worst_schema_shapes().
[[nodiscard]] std::string to_string(const schema_shape& shape);

} // namespace agui::test
