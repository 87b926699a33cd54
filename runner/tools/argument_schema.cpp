#include "runner/tools/argument_schema.hpp"

#include "runner/base/utf8.hpp"
#include "runner/tools/schema_check.hpp"
#include "runner/tools/schema_rules.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

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
        "The arguments have too many values, or too deeply nested ones, to check at once: send "
        "fewer.",
        "The check of the arguments took too many steps."
    };
}

// The depth of parse_arguments() bounds the recursion.
void remove_nulls(json::value& value) {
    if (json::array* const list = value.if_array()) {
        std::ranges::for_each(*list, remove_nulls);
        return;
    }
    json::object* const object = value.if_object();
    if (object == nullptr) {
        return;
    }
    json::object kept(object->storage());
    kept.reserve(object->size());
    for (auto& [name, each] : *object) {
        if (!each.is_null()) {
            remove_nulls(each);
            kept.emplace(name, std::move(each));
        }
    }
    *object = std::move(kept);
}

} // namespace

argument_schema::argument_schema(schema_rules rules)
    : rules_(std::make_shared<const schema_rules>(std::move(rules))) {}

std::optional<argument_violation>
argument_schema::fit(json::object& arguments, check_budget& budget) const {
    json::value checked(std::move(arguments));
    std::optional<argument_violation> violation = violation_of(checked, budget);
    arguments = std::move(checked.get_object());
    return violation;
}

std::optional<argument_violation>
argument_schema::violation_of(json::value& arguments, check_budget& budget) const {
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
    remove_nulls(arguments);
    return std::nullopt;
}

std::size_t argument_schema::subschemas() const noexcept { return rules_->rules.size(); }

result<std::shared_ptr<const argument_schema>>
compile_argument_schema(const json::value& schema, std::size_t max_subschemas) {
    if (schema.is_null()) {
        return std::shared_ptr<const argument_schema>();
    }
    result<schema_rules> rules = compile_schema_rules(schema, max_subschemas);
    if (!rules) {
        return rules.error();
    }
    return std::make_shared<const argument_schema>(*std::move(rules));
}

result<std::shared_ptr<const argument_schema>> compile_argument_schema(const json::value& schema) {
    return compile_argument_schema(schema, max_schema_subschemas);
}

} // namespace agui::runner
