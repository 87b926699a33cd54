#include "runner/tools/schema_rules.hpp"

#include "runner/tools/json_constant.hpp"
#include "runner/tools/schema_places.hpp"
#include "runner/tools/schema_values.hpp"
#include "session/base/contains.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// Length of a chain of references.
constexpr std::size_t max_reference_hops = 16;

constexpr std::array<std::string_view, 14> annotations{
    "$schema",  "$id",      "id",       "$comment",  "title",      "description", "default",
    "nullable", "examples", "readOnly", "writeOnly", "deprecated", "$anchor",     "example"
};

bool is_annotation(std::string_view keyword) { return contains(annotations, keyword); }

template <class Rules>
Rules& part_of(std::unique_ptr<Rules>& rules) {
    if (rules == nullptr) {
        rules = std::make_unique<Rules>();
    }
    return *rules;
}

/// Members of an object while the keywords that name them are read.
struct member_list {
    std::vector<known_member> members;
    std::vector<std::pair<std::string_view, const json::array*>> name_dependencies;
    std::vector<std::pair<std::string_view, rule_index>> rule_dependencies;
};

class rule_compiler {
public:
    explicit rule_compiler(std::size_t max_subschemas) noexcept : max_subschemas_(max_subschemas) {}

    schema_rules compile(const json::value& schema) {
        subschema(schema, 0);
        if (!references_.empty()) {
            places_.sort();
        }
        for (const auto& [from, to] : references_) {
            compiled_.rules[from].reference = target_of(to);
        }
        for (const auto& [from, to] : references_) {
            refuse_circle(from);
        }
        compiled_.rules.shrink_to_fit();
        return std::move(compiled_);
    }

private:
    /// A schema object that is being read.
    struct part {
        const json::object& schema;
        rule_index index;
        std::size_t depth;
        value_rules rules = {};
        member_list names = {};
    };
    using place = schema_places::place;
    using reader =
        void (rule_compiler::*)(part& at, std::string_view keyword, const json::value& value);

    rule_index subschema(const json::value& schema, std::size_t depth) {
        if (depth > max_schema_depth) {
            throw schema_refused{"the schema is nested too deeply"};
        }
        if (const std::optional<bool> answer = constant_answer(schema)) {
            return constant_rule(*answer);
        }
        if (!schema.is_object()) {
            throw schema_refused{"a subschema is neither an object nor a boolean"};
        }
        const rule_index index = add_rule();
        part at{schema.get_object(), index, depth};
        if (const json::value* const target = at.schema.if_contains("$ref")) {
            read_reference(at, *target);
            return index;
        }
        for (const auto& [keyword, value] : at.schema) {
            read_keyword(at, keyword, value);
        }
        finish_members(at);
        compiled_.rules[index] = std::move(at.rules);
        return index;
    }

    rule_index add_rule() {
        if (compiled_.rules.size() == max_subschemas_) {
            throw schema_refused{"the schema is too large"};
        }
        compiled_.rules.emplace_back();
        return static_cast<rule_index>(compiled_.rules.size() - 1);
    }

    // The answer of a schema that does not depend on the value; nullopt if it does.
    static std::optional<bool> constant_answer(const json::value& schema) {
        if (schema.is_bool()) {
            return schema.get_bool();
        }
        const auto says_nothing = [](const auto& member) {
            return is_annotation(member.key());
        };
        const bool fits_all =
            schema.is_object() && std::ranges::all_of(schema.get_object(), says_nothing);
        return fits_all ? std::optional(true) : std::nullopt;
    }

    // A rule takes 100 bytes, and `{}` only three, so all constant schemas share one rule per
    // answer.
    rule_index constant_rule(bool answer) {
        rule_index& shared = answer ? fits_all_ : refuses_all_;
        if (shared == no_rule) {
            shared = add_rule();
            compiled_.rules[shared].refuses_all = !answer;
        }
        return shared;
    }

    void read_reference(part& at, const json::value& target) {
        if (!target.is_string()) {
            throw schema_refused{"a $ref is not a string"};
        }
        const std::string_view text = target.get_string();
        const bool is_inside = text == "#" || text.starts_with("#/");
        if (!is_inside || text.find('%') != std::string_view::npos) {
            throw schema_refused{"a $ref leads out of the schema"};
        }
        references_.emplace_back(at.index, text.substr(1));
        // Draft 7 ignores all keywords beside it. Other references may need the definitions.
        for (const auto& [keyword, value] : at.schema) {
            if (keyword == "definitions" || keyword == "$defs") {
                read_map(at, keyword, value);
            } else if (keyword != "$ref" && !is_annotation(keyword)) {
                compiled_.is_loose = true;
            }
        }
    }

    void read_keyword(part& at, std::string_view keyword, const json::value& value) {
        if (is_annotation(keyword)) {
            return;
        }
        const reader known = leaves_out(at.schema, keyword, value) ? nullptr : reader_of(keyword);
        if (known == nullptr) {
            compiled_.is_loose = true;
        } else {
            (this->*known)(at, keyword, value);
        }
    }

    // True for known keywords that are not checked here.
    static bool
    leaves_out(const json::object& from, std::string_view keyword, const json::value& value) {
        if (keyword == "additionalProperties") {
            return from.contains("patternProperties");
        }
        if (keyword == "items" || keyword == "additionalItems") {
            // `items` then has a meaning that differs from draft 7.
            return from.contains("prefixItems");
        }
        if (keyword == "contains") {
            return from.contains("minContains") || from.contains("maxContains");
        }
        if (keyword == "multipleOf") { // The remainder of a division by a fraction is inexact.
            return !value.is_int64() || value.get_int64() < 1;
        }
        if (keyword == "required") {
            return value.is_bool(); // Draft 3.
        }
        if (keyword == "exclusiveMaximum" || keyword == "exclusiveMinimum") {
            return value.is_bool(); // Draft 4.
        }
        if (keyword == "type" || keyword == "enum" || keyword == "const") {
            const json::value* const nullable = from.if_contains("nullable"); // OpenAPI 3.0.
            return nullable != nullptr && nullable->is_bool() && nullable->get_bool();
        }
        return false;
    }

    static reader reader_of(std::string_view keyword) {
        using self = rule_compiler;
        using combined = combined_rules;
        static constexpr std::array<std::pair<std::string_view, reader>, 30> readers{{
            {"$defs", &self::read_map},
            {"additionalItems", &self::read_other_items},
            {"additionalProperties", &self::read_other_members},
            {"allOf", &self::read_list<&combined::all_of>},
            {"anyOf", &self::read_list<&combined::any_of>},
            {"const", &self::read_constant},
            {"contains", &self::read_contains},
            {"definitions", &self::read_map},
            {"dependencies", &self::read_dependencies},
            {"else", &self::read_one<&combined::otherwise>},
            {"enum", &self::read_choice},
            {"exclusiveMaximum", &self::read_number<&number_limits::below>},
            {"exclusiveMinimum", &self::read_number<&number_limits::above>},
            {"if", &self::read_one<&combined::condition>},
            {"items", &self::read_items},
            {"maxItems", &self::read_size<&value_rules::items, &size_limits::most>},
            {"maxLength", &self::read_size<&value_rules::characters, &size_limits::most>},
            {"maxProperties", &self::read_size<&value_rules::members, &size_limits::most>},
            {"maximum", &self::read_number<&number_limits::most>},
            {"minItems", &self::read_size<&value_rules::items, &size_limits::least>},
            {"minLength", &self::read_size<&value_rules::characters, &size_limits::least>},
            {"minProperties", &self::read_size<&value_rules::members, &size_limits::least>},
            {"minimum", &self::read_number<&number_limits::least>},
            {"multipleOf", &self::read_number<&number_limits::multiple_of>},
            {"not", &self::read_one<&combined::negated>},
            {"oneOf", &self::read_list<&combined::one_of>},
            {"properties", &self::read_properties},
            {"required", &self::read_required},
            {"then", &self::read_one<&combined::then>},
            {"type", &self::read_type},
        }};
        const auto* const found =
            std::ranges::find(readers, keyword, [](const auto& known) { return known.first; });
        return found == readers.end() ? nullptr : found->second;
    }

    // Reads a subschema of `at`, and notes its place.
    rule_index read_at(const place& where, const part& at, const json::value& value) {
        const rule_index rule = subschema(value, at.depth + 1);
        places_.add(where, rule);
        return rule;
    }

    rule_index child(const part& at, std::string_view keyword, const json::value& value) {
        return read_at({at.index, keyword}, at, value);
    }

    rule_index member(
        const part& at, std::string_view keyword, std::string_view name, const json::value& value
    ) {
        return read_at({at.index, keyword, place::kind::named, name}, at, value);
    }

    std::vector<rule_index>
    children(const part& at, std::string_view keyword, const json::array& list) {
        std::vector<rule_index> rules;
        for (const json::value& each : list) {
            const auto number = static_cast<std::uint32_t>(rules.size());
            rules.push_back(
                read_at({at.index, keyword, place::kind::numbered, {}, number}, at, each)
            );
        }
        return rules;
    }

    void read_map(part& at, std::string_view keyword, const json::value& value) {
        for (const auto& [name, schema] : schema_object(value)) {
            static_cast<void>(member(at, keyword, name, schema));
        }
    }

    template <std::vector<rule_index> combined_rules::* List>
    void read_list(part& at, std::string_view keyword, const json::value& value) {
        part_of(at.rules.combined).*List = children(at, keyword, schema_list(value));
    }

    template <rule_index combined_rules::* Rule>
    void read_one(part& at, std::string_view keyword, const json::value& value) {
        part_of(at.rules.combined).*Rule = child(at, keyword, value);
    }

    void read_items(part& at, std::string_view keyword, const json::value& value) {
        array_rules& rules = part_of(at.rules.array);
        if (value.is_array()) {
            rules.first = children(at, keyword, value.get_array());
        } else {
            rules.others = child(at, keyword, value);
        }
    }

    void read_other_items(part& at, std::string_view keyword, const json::value& value) {
        const rule_index rule = child(at, keyword, value);
        // Draft 7 ignores it unless `items` is a list.
        const json::value* const items = at.schema.if_contains("items");
        if (items != nullptr && items->is_array()) {
            part_of(at.rules.array).others = rule;
        }
    }

    void read_contains(part& at, std::string_view keyword, const json::value& value) {
        part_of(at.rules.array).contains = child(at, keyword, value);
    }

    void read_other_members(part& at, std::string_view keyword, const json::value& value) {
        part_of(at.rules.object).others = child(at, keyword, value);
    }

    void read_properties(part& at, std::string_view keyword, const json::value& value) {
        for (const auto& [name, schema] : schema_object(value)) {
            at.names.members.push_back({std::string(name), member(at, keyword, name, schema)});
        }
    }

    void read_required(part& at, std::string_view, const json::value& value) {
        for (const json::value& each : schema_list(value)) {
            at.names.members.push_back({std::string(schema_text(each)), no_rule, true});
        }
    }

    void read_dependencies(part& at, std::string_view keyword, const json::value& value) {
        for (const auto& [name, needed] : schema_object(value)) {
            at.names.members.push_back({std::string(name)});
            if (!needed.is_array()) {
                at.names.rule_dependencies.emplace_back(name, member(at, keyword, name, needed));
                continue;
            }
            at.names.name_dependencies.emplace_back(name, &needed.get_array());
            for (const json::value& each : needed.get_array()) {
                at.names.members.push_back({std::string(schema_text(each))});
            }
        }
    }

    // A name may be in `properties`, in `required` and in `dependencies`.
    static void finish_members(part& at) {
        std::vector<known_member>& given = at.names.members;
        if (given.empty()) {
            return;
        }
        object_rules& rules = part_of(at.rules.object);
        std::ranges::sort(given, {}, &known_member::name);
        for (known_member& each : given) {
            if (rules.members.empty() || rules.members.back().name != each.name) {
                rules.members.push_back(std::move(each));
                continue;
            }
            known_member& known = rules.members.back();
            known.rule = std::min(known.rule, each.rule);
            known.is_required = known.is_required || each.is_required;
        }
        rules.required = static_cast<std::size_t>(
            std::ranges::count_if(rules.members, &known_member::is_required)
        );
        const auto index_of = [&rules](std::string_view name) {
            const auto found =
                std::ranges::lower_bound(rules.members, name, {}, &known_member::name);
            return static_cast<std::size_t>(found - rules.members.begin());
        };
        for (const auto& [name, needed] : at.names.name_dependencies) {
            member_dependency& added = rules.dependencies.emplace_back();
            added.member = index_of(name);
            for (const json::value& each : *needed) {
                added.needed.push_back(index_of(each.get_string()));
            }
        }
        for (const auto& [name, rule] : at.names.rule_dependencies) {
            rules.dependencies.push_back({index_of(name), {}, rule});
        }
    }

    void read_type(part& at, std::string_view, const json::value& value) {
        if (!value.is_array()) {
            at.rules.types = schema_type(value);
            return;
        }
        at.rules.types = 0;
        for (const json::value& each : value.get_array()) {
            at.rules.types |= schema_type(each);
        }
    }

    template <size_limits value_rules::* Limits, std::size_t size_limits::* Limit>
    void read_size(part& at, std::string_view, const json::value& value) {
        (at.rules.*Limits).*Limit = schema_size(value);
    }

    template <json::value number_limits::* Limit>
    void read_number(part& at, std::string_view, const json::value& value) {
        if (!value.is_number()) {
            refuse_schema_value();
        }
        part_of(at.rules.numbers).*Limit = value;
    }

    static void add_constant(constants& to, const json::value& value) {
        constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
        check_budget unlimited(no_limit); // Each constant is written only once.
        auto text = constant_text(value, no_limit, null_members::are_values, unlimited);
        if (!text) {
            throw schema_refused{"the schema is nested too deeply"};
        }
        to.longest = std::max(to.longest, text->size());
        to.texts.push_back(*std::move(text));
    }

    void read_constant(part& at, std::string_view, const json::value& value) {
        add_constant(part_of(at.rules.constant), value);
    }

    void read_choice(part& at, std::string_view, const json::value& value) {
        constants& choice = part_of(at.rules.choice);
        for (const json::value& each : schema_list(value)) {
            add_constant(choice, each);
        }
        std::ranges::sort(choice.texts);
    }

    [[nodiscard]] rule_index target_of(std::string_view pointer) const {
        const std::optional<rule_index> target = places_.find(pointer);
        if (!target) {
            throw schema_refused{"a $ref does not lead to a subschema"};
        }
        return *target;
    }

    void refuse_circle(rule_index from) const {
        rule_index at = from;
        for (std::size_t hops = 0; hops < max_reference_hops; ++hops) {
            at = compiled_.rules[at].reference;
            if (at == no_rule) {
                return;
            }
        }
        throw schema_refused{"a $ref leads in a circle"};
    }

    schema_rules compiled_;
    std::size_t max_subschemas_;
    rule_index fits_all_ = no_rule;
    rule_index refuses_all_ = no_rule;
    schema_places places_; ///< Sorted before references are resolved.
    std::vector<std::pair<rule_index, std::string_view>> references_;
};

} // namespace

result<schema_rules> compile_schema_rules(const json::value& schema, std::size_t max_subschemas) {
    try {
        return rule_compiler(max_subschemas).compile(schema);
    } catch (const schema_refused& because) {
        return failure{errc::invalid_input, std::string(because.why)};
    }
}

} // namespace agui::runner
