#include "runner/tools/schema_subset.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// Of a schema, including the values of `enum` and `const`. Generated schemas stay below 20.
constexpr std::size_t max_schema_depth = 64;
/// Of references that lead to a reference.
constexpr std::size_t max_reference_hops = 16;

// Keywords by what their value is.
constexpr std::array<std::string_view, 2> lists_of_schemas{"allOf", "anyOf"};
constexpr std::array<std::string_view, 3> maps_of_schemas{"properties", "definitions", "$defs"};
constexpr std::array<std::string_view, 3> schemas{
    "contains", "additionalProperties", "additionalItems"
};
constexpr std::array<std::string_view, 12> plain_values{
    "type",      "enum",      "const",   "required", "maxItems",      "minItems",
    "maxLength", "minLength", "maximum", "minimum",  "maxProperties", "minProperties"
};
constexpr std::array<std::string_view, 2> limits{"exclusiveMaximum", "exclusiveMinimum"};
constexpr std::array<std::string_view, 15> annotations{"$schema",  "$id",       "id",
                                                       "$comment", "title",     "description",
                                                       "default",  "nullable",  "examples",
                                                       "readOnly", "writeOnly", "deprecated",
                                                       "$anchor",  "format",    "example"};

template <std::size_t N>
bool is_one_of(std::string_view key, const std::array<std::string_view, N>& keys) {
    return std::ranges::find(keys, key) != keys.end();
}

std::string escaped(std::string_view token) {
    std::string result;
    for (const char c : token) {
        result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return result;
}

bool is_index(std::string_view token) {
    return !token.empty() && token.size() < 6 &&
           std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
}

struct refused {
    std::string_view why;
};

class subset_writer {
public:
    /// `loose`: something of the schema is left out, so nothing may depend on a part that fails.
    explicit subset_writer(bool loose) noexcept : loose_(loose) {}

    json::value write(const json::value& schema) {
        json::value result = subschema(schema, "", 0);
        for (const auto& [from, to] : references_) {
            follow(from);
        }
        return result;
    }

    [[nodiscard]] bool left_something_out() const noexcept { return left_out_; }

private:
    json::value subschema(const json::value& schema, const std::string& place, std::size_t depth) {
        if (depth > max_schema_depth) {
            throw refused{"the schema is nested too deeply"};
        }
        places_.insert(place);
        if (schema.is_bool()) {
            return schema;
        }
        if (!schema.is_object()) {
            throw refused{"a subschema is neither an object nor a boolean"};
        }
        const json::object& from = schema.get_object();
        if (const json::value* target = from.if_contains("$ref")) {
            left_out_ = left_out_ || from.size() > 1;
            json::object only;
            only["$ref"] = reference(*target, place);
            // A reference to the root's definitions needs them also beside another reference.
            for (const std::string_view key : {"definitions", "$defs"}) {
                if (const json::value* map = from.if_contains(key)) {
                    only[key] = map_of_schemas(*map, place + "/" + std::string(key), depth);
                }
            }
            return only;
        }
        json::object to;
        for (const auto& member : from) {
            keyword(from, member.key(), member.value(), to, place, depth);
        }
        json::value& all = to["allOf"];
        json::array steps{json::object{{schema_step_key, true}}};
        if (all.is_array()) {
            for (json::value& each : all.get_array()) {
                steps.push_back(std::move(each));
            }
        }
        all = std::move(steps);
        return to;
    }

    void keyword(
        const json::object& from, std::string_view key, const json::value& value, json::object& to,
        const std::string& place, std::size_t depth
    ) {
        const std::string below = place + "/" + std::string(key);
        if (leaves_out(from, key, value)) {
            left_out_ = true;
            return;
        }
        if (is_one_of(key, plain_values) || is_one_of(key, limits) || key == "multipleOf") {
            to[key] = plain(value, depth);
        } else if (is_one_of(key, maps_of_schemas)) {
            to[key] = map_of_schemas(value, below, depth);
        } else if (is_one_of(key, lists_of_schemas)) {
            to[key] = list_of_schemas(value, below, depth, key == "allOf" ? 1 : 0);
        } else if (is_one_of(key, schemas)) {
            to[key] = subschema(value, below, depth + 1);
        } else if (key == "items") {
            to[key] = value.is_array() ? list_of_schemas(value, below, depth, 0)
                                       : subschema(value, below, depth + 1);
        } else if (key == "dependencies") {
            to[key] = dependencies(value, below, depth);
        } else if (key == "oneOf") {
            const std::string_view name = loose_ ? "anyOf" : "oneOf";
            if (name == key || !from.contains(name)) {
                to[name] = list_of_schemas(value, place + "/" + std::string(name), depth, 0);
            }
        } else if (key == "not" || key == "if" || key == "then" || key == "else") {
            if (!loose_) {
                to[key] = subschema(value, below, depth + 1);
            }
        } else if (!is_one_of(key, annotations)) {
            left_out_ = true;
        }
    }

    // Keywords that are known but not checked here.
    static bool
    leaves_out(const json::object& from, std::string_view key, const json::value& value) {
        if (key == "additionalProperties") {
            return from.contains("patternProperties");
        }
        if (key == "items" || key == "additionalItems") {
            return from.contains("prefixItems"); // There, `items` says what draft 7 says otherwise.
        }
        if (key == "contains") {
            return from.contains("minContains") || from.contains("maxContains");
        }
        if (key == "multipleOf") { // valijson divides by it.
            return !value.is_int64() || value.get_int64() < 1;
        }
        if (key == "required") {
            return value.is_bool(); // Draft 3.
        }
        if (is_one_of(key, limits)) {
            return value.is_bool(); // Draft 4.
        }
        if (key == "type" || key == "enum" || key == "const") {
            const json::value* nullable = from.if_contains("nullable"); // OpenAPI 3.0.
            return nullable != nullptr && nullable->is_bool() && nullable->get_bool();
        }
        return false;
    }

    static json::value plain(const json::value& value, std::size_t depth) {
        check_depth(value, depth);
        return comparable_numbers(value);
    }

    static void check_depth(const json::value& value, std::size_t depth) {
        if (depth > max_schema_depth) {
            throw refused{"the schema is nested too deeply"};
        }
        if (const json::array* list = value.if_array()) {
            for (const json::value& each : *list) {
                check_depth(each, depth + 1);
            }
        } else if (const json::object* object = value.if_object()) {
            for (const auto& member : *object) {
                check_depth(member.value(), depth + 1);
            }
        }
    }

    json::value
    map_of_schemas(const json::value& value, const std::string& place, std::size_t depth) {
        if (!value.is_object()) {
            throw refused{"a keyword that needs an object has none"};
        }
        json::object result;
        for (const auto& member : value.get_object()) {
            result[member.key()] =
                subschema(member.value(), place + "/" + escaped(member.key()), depth + 1);
        }
        return result;
    }

    json::value list_of_schemas(
        const json::value& value, const std::string& place, std::size_t depth, std::size_t shift
    ) {
        if (!value.is_array()) {
            throw refused{"a keyword that needs an array has none"};
        }
        json::array result;
        for (const json::value& each : value.get_array()) {
            std::string below = place;
            below.append("/").append(std::to_string(result.size() + shift));
            result.push_back(subschema(each, below, depth + 1));
        }
        return result;
    }

    json::value
    dependencies(const json::value& value, const std::string& place, std::size_t depth) {
        if (!value.is_object()) {
            throw refused{"a keyword that needs an object has none"};
        }
        json::object result;
        for (const auto& member : value.get_object()) {
            result[member.key()] =
                member.value().is_array()
                    ? member.value()
                    : subschema(member.value(), place + "/" + escaped(member.key()), depth + 1);
        }
        return result;
    }

    // Where the reference leads once each allOf has one element more.
    json::string reference(const json::value& target, const std::string& place) {
        if (!target.is_string()) {
            throw refused{"a $ref is not a string"};
        }
        const std::string_view text = target.get_string();
        if (!text.starts_with('#') || text.find('%') != std::string_view::npos) {
            throw refused{"a $ref leads out of the schema"};
        }
        std::string moved;
        enum class next { keyword, name, index_of_all, index } expected = next::keyword;
        std::string_view rest = text.substr(1);
        while (!rest.empty()) {
            if (rest.front() != '/') {
                throw refused{"a $ref leads out of the schema"};
            }
            rest.remove_prefix(1);
            const std::string_view token = rest.substr(0, rest.find('/'));
            rest.remove_prefix(token.size());
            if (expected == next::index_of_all && is_index(token)) {
                moved += "/" + std::to_string(std::stoul(std::string(token)) + 1);
            } else {
                moved += "/" + std::string(token);
            }
            if (expected != next::keyword) {
                expected = next::keyword;
            } else if (is_one_of(token, maps_of_schemas) || token == "dependencies") {
                expected = next::name;
            } else if (token == "allOf") {
                expected = next::index_of_all;
            } else if (token == "anyOf" || token == "oneOf" ||
                       (token == "items" && rest.size() > 1 && is_index(rest.substr(1, 1)))) {
                expected = next::index;
            }
        }
        references_[place] = moved;
        return json::string("#" + moved);
    }

    void follow(const std::string& from) const {
        std::string place = from;
        for (std::size_t hops = 0; hops < max_reference_hops; ++hops) {
            const auto next = references_.find(place);
            if (next == references_.end()) {
                return;
            }
            place = next->second;
            if (!places_.contains(place)) {
                throw refused{"a $ref does not lead to a subschema"};
            }
        }
        throw refused{"a $ref leads in a circle"};
    }

    bool loose_;
    bool left_out_ = false;
    std::set<std::string> places_;
    std::map<std::string, std::string> references_; ///< From place to place.
};

} // namespace

result<json::value> checked_subset(const json::value& schema) {
    try {
        subset_writer first(false);
        json::value written = first.write(schema);
        return first.left_something_out() ? subset_writer(true).write(schema) : written;
    } catch (const refused& because) {
        return failure{errc::invalid_input, std::string(because.why)};
    }
}

json::value comparable_numbers(const json::value& value) {
    switch (value.kind()) {
    case json::kind::uint64:
        return static_cast<std::int64_t>(
            std::min<std::uint64_t>(value.get_uint64(), std::numeric_limits<std::int64_t>::max())
        );
    case json::kind::double_: {
        const double number = value.get_double();
        if (std::trunc(number) != number) {
            return number;
        }
        constexpr double beyond = 9223372036854775808.0; // 2^63
        if (number >= beyond) {
            return std::numeric_limits<std::int64_t>::max();
        }
        return number < -beyond ? std::numeric_limits<std::int64_t>::min()
                                : static_cast<std::int64_t>(number);
    }
    case json::kind::array: {
        json::array result;
        result.reserve(value.get_array().size());
        for (const json::value& each : value.get_array()) {
            result.push_back(comparable_numbers(each));
        }
        return result;
    }
    case json::kind::object: {
        json::object result;
        result.reserve(value.get_object().size());
        for (const auto& member : value.get_object()) {
            result[member.key()] = comparable_numbers(member.value());
        }
        return result;
    }
    default:
        return value;
    }
}

} // namespace agui::runner
