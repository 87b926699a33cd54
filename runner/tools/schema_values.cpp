#include "runner/tools/schema_values.hpp"

#include "runner/tools/json_constant.hpp"
#include "runner/tools/schema_rules.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 7> type_names{{
    {"null", type_null},
    {"boolean", type_boolean},
    {"string", type_string},
    {"integer", type_integer},
    {"number", type_integer | type_number},
    {"array", type_array},
    {"object", type_object},
}};

} // namespace

void refuse_schema_value() { throw schema_refused{"the schema cannot be compiled"}; }

const json::array& schema_list(const json::value& value) {
    if (!value.is_array()) {
        throw schema_refused{"a keyword that needs an array has none"};
    }
    return value.get_array();
}

const json::object& schema_object(const json::value& value) {
    if (!value.is_object()) {
        throw schema_refused{"a keyword that needs an object has none"};
    }
    return value.get_object();
}

std::string_view schema_text(const json::value& value) {
    if (!value.is_string()) {
        refuse_schema_value();
    }
    return value.get_string();
}

std::size_t schema_size(const json::value& value) {
    if (!is_whole_number(value)) {
        refuse_schema_value();
    }
    // No value has more parts than a double can express beyond this.
    constexpr double beyond = 9223372036854775808.0; // 2^63
    const double number = value.to_number<double>();
    if (number < 0) {
        refuse_schema_value();
    }
    return number >= beyond ? std::numeric_limits<std::size_t>::max()
                            : static_cast<std::size_t>(number);
}

std::uint8_t schema_type(const json::value& value) {
    const std::string_view name = schema_text(value);
    const auto* const found =
        std::ranges::find(type_names, name, [](const auto& known) { return known.first; });
    if (found == type_names.end()) {
        refuse_schema_value();
    }
    return found->second;
}

} // namespace agui::runner
