#include "runner/tools/typed_tool.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace agui::runner::detail {

namespace {

// Whole numbers up to here are exact in a double.
constexpr double exact_max = 9'007'199'254'740'992.0;

void describe(json::object& schema, const std::string& text) {
    if (!text.empty()) {
        schema["description"] = text;
    }
}

} // namespace

void refuse_recursive_type() {
    throw std::invalid_argument(
        "the type of a tool's parameter is nested too deeply or contains itself"
    );
}

void object_schema::add(std::string_view name, json::object schema, bool required) {
    const bool added = properties_.emplace(name, std::move(schema)).second;
    if (!added) {
        throw std::invalid_argument("two parameters have the name " + std::string(name));
    }
    if (required) {
        required_.emplace_back(name);
    }
}

json::object object_schema::take() {
    json::object schema{{"type", "object"}, {"properties", std::move(properties_)}};
    if (!required_.empty()) {
        schema.emplace("required", std::move(required_));
    }
    return schema;
}

void refuse_argument(std::string_view path, std::string_view rule) {
    throw tool_error("The argument " + std::string(path) + " " + std::string(rule) + ".");
}

json::value json_number(double value) {
    if (!std::isfinite(value)) {
        return nullptr;
    }
    if (std::trunc(value) == value && std::abs(value) < exact_max) {
        return static_cast<std::int64_t>(value);
    }
    return value;
}

std::string text_of_number(double value) {
    std::array<char, std::numeric_limits<double>::max_digits10 + 16> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    return {text.data(), end};
}

tool_outcome outcome_of_failure(const failure& failed) {
    return {tool_outcome::kind::error, failed.detail, std::string(to_string(failed.code))};
}

std::vector<tool_parameter> plain_names(std::size_t count) {
    std::vector<tool_parameter> names;
    for (std::size_t i = 0; i < count; ++i) {
        names.emplace_back("a");
        names.back().name[0] = static_cast<char>('a' + static_cast<int>(i));
    }
    return names;
}

json::object
schema_of_parameters(const std::vector<tool_parameter>& given, std::vector<typed_parameter> typed) {
    object_schema schema;
    for (std::size_t i = 0; i < typed.size(); ++i) {
        describe(typed[i].schema, given[i].description);
        schema.add(typed[i].name, std::move(typed[i].schema), typed[i].required);
    }
    return schema.take();
}

void describe_members(json::object& schema, const std::vector<tool_parameter>& given) {
    json::object& members = schema.at("properties").as_object();
    for (const tool_parameter& each : given) {
        json::value* const member = members.if_contains(each.name);
        if (member == nullptr) {
            throw std::invalid_argument("there is no member " + each.name + " to describe");
        }
        describe(member->as_object(), each.description);
    }
}

server_tool checked_tool(std::string name, std::string description, json::object schema) {
    if (name.empty()) {
        throw std::invalid_argument("a tool needs a name");
    }
    return {{std::move(name), std::move(description), std::move(schema)}, {}};
}

} // namespace agui::runner::detail
