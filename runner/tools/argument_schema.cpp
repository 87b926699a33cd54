#include "runner/tools/argument_schema.hpp"

#include "runner/base/utf8.hpp"
#include "runner/tools/schema_check.hpp"
#include "runner/tools/schema_rules.hpp"

#include <boost/json/array.hpp>

#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// Of one check, which the I/O thread waits for: 10 ms.
constexpr std::size_t max_check_steps = 10'000;
/// Units of check_budget that take as long as a step, about a microsecond.
constexpr std::size_t units_per_step = 16;
constexpr std::size_t max_told_bytes = 1000;

argument_violation described(const violation_list& found) {
    std::string text = "The arguments do not fit the tool's schema.";
    for (const std::string& each : found.texts()) {
        if (text.size() + each.size() < max_told_bytes) {
            text += " " + each;
        }
    }
    return {to_utf8(text), "The arguments do not fit the tool's schema."};
}

argument_violation gave_up() {
    return {
        "The arguments are nested too deeply, or too many, to be checked.",
        "The check of the arguments took too many steps."
    };
}

// As deep as parse_arguments() reads.
json::value without_nulls(const json::value& value) {
    if (const json::array* const list = value.if_array()) {
        json::array kept(value.storage());
        kept.reserve(list->size());
        for (const json::value& each : *list) {
            kept.push_back(without_nulls(each));
        }
        return kept;
    }
    if (const json::object* const object = value.if_object()) {
        json::object kept(value.storage());
        kept.reserve(object->size());
        for (const auto& [name, each] : *object) {
            if (!each.is_null()) {
                kept.emplace(name, without_nulls(each));
            }
        }
        return kept;
    }
    return json::value(value, value.storage());
}

} // namespace

argument_schema::argument_schema(schema_rules rules)
    : rules_(std::make_shared<const schema_rules>(std::move(rules))) {}

std::optional<argument_violation> argument_schema::fit(json::object& arguments) const {
    json::value checked(std::move(arguments));
    std::optional<argument_violation> violation = violation_of(checked);
    arguments = std::move(checked.get_object());
    return violation;
}

std::optional<argument_violation> argument_schema::violation_of(json::value& arguments) const {
    check_budget budget(max_check_steps * units_per_step);
    violation_list found;
    switch (check_against(*rules_, arguments, null_members::are_values, &found, budget)) {
    case check_result::fits:
        return std::nullopt;
    case check_result::gave_up:
        return gave_up();
    case check_result::violates:
        break;
    }
    if (check_against(*rules_, arguments, null_members::are_absent, nullptr, budget) !=
        check_result::fits) {
        return described(found);
    }
    arguments = without_nulls(arguments);
    return std::nullopt;
}

result<std::shared_ptr<const argument_schema>> compile_argument_schema(const json::value& schema) {
    if (schema.is_null()) {
        return std::shared_ptr<const argument_schema>();
    }
    result<schema_rules> rules = compile_schema_rules(schema);
    if (!rules) {
        return rules.error();
    }
    return std::make_shared<const argument_schema>(*std::move(rules));
}

} // namespace agui::runner
