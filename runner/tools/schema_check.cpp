#include "runner/tools/schema_check.hpp"

#include "runner/tools/schema_words.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// Subschemas that are checked within each other. parse_arguments() reads 256 levels. A level of
/// the arguments usually takes one or two subschemas, and each takes up to 1 KB of stack.
constexpr std::size_t max_nesting = 1000;
/// Alternatives of a failed anyOf whose first violation is reported.
constexpr std::size_t max_alternatives_told = 3;
/// A subschema checks each kind of rule: up to 50 ns.
constexpr std::size_t units_per_subschema = 2;
/// A text needs the whole path and a few allocated strings: up to 2 microseconds.
constexpr std::size_t units_per_text = 100;

std::uint8_t types_of(const json::value& value) {
    switch (value.kind()) {
    case json::kind::null:
        return type_null;
    case json::kind::bool_:
        return type_boolean;
    case json::kind::string:
        return type_string;
    case json::kind::array:
        return type_array;
    case json::kind::object:
        return type_object;
    default:
        return is_whole_number(value) ? type_integer | type_number : type_number;
    }
}

// Exact for int64 and uint64, too, if long double has 64 bits of mantissa or more.
long double number_of(const json::value& value) noexcept {
    if (value.is_int64()) {
        return static_cast<long double>(value.get_int64());
    }
    return value.is_uint64() ? static_cast<long double>(value.get_uint64())
                             : static_cast<long double>(value.get_double());
}

std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

class schema_checker {
public:
    schema_checker(const schema_rules& schema, null_members nulls, check_budget& budget) noexcept
        : schema_(schema), nulls_(nulls), budget_(budget) {}

    /// If `found` is null, the first violation ends the check; otherwise a full list does.
    bool
    fits(rule_index rule, const json::value& value, const value_path& at, violation_list* found) {
        const nesting level(*this);
        budget_.take(units_per_subschema);
        const value_rules& rules = rules_of(rule);
        if (rules.refuses_all) {
            return violated(at, found, [] { return "this is not allowed"; });
        }
        if ((rules.types & types_of(value)) == 0) {
            return violated(at, found, [&rules] { return type_rule(rules.types); });
        }
        bool fit = true;
        for (const kind_of_rule satisfies : kinds_of_rules) {
            fit = (this->*satisfies)(rules, value, at, found) && fit;
            if (ends(fit, found)) {
                return false;
            }
        }
        return fit;
    }

private:
    using kind_of_rule =
        bool (schema_checker::*)(const value_rules&, const json::value&, const value_path&, violation_list*);
    static const std::array<kind_of_rule, 6> kinds_of_rules;

    class nesting {
    public:
        explicit nesting(schema_checker& checker) : depth_(checker.depth_) {
            if (depth_ == max_nesting) {
                throw too_much_work();
            }
            ++depth_;
        }
        ~nesting() { --depth_; }
        nesting(const nesting&) = delete;
        nesting& operator=(const nesting&) = delete;

    private:
        std::size_t& depth_;
    };

    // compile_schema_rules() refuses circles and long chains.
    [[nodiscard]] const value_rules& rules_of(rule_index rule) const {
        const value_rules* rules = &schema_.rules[rule];
        while (rules->reference != no_rule) {
            rules = &schema_.rules[rules->reference];
        }
        return *rules;
    }

    static bool ends(bool fit, const violation_list* found) {
        return !fit && (found == nullptr || found->is_full());
    }

    // Always returns false. The rule is put into words, at most 200 bytes, only if `found` has
    // room.
    template <class Words>
    bool violated(const value_path& at, violation_list* found, const Words& words) {
        if (found != nullptr && !found->is_full()) {
            budget_.take(units_per_text);
            found->add("At " + path_text(at) + ": " + words() + ".");
        }
        return false;
    }

    bool satisfies_size(
        const size_limits& limits, std::size_t size, std::string_view parts, const value_path& at,
        violation_list* found
    ) {
        const auto words = [parts](std::string_view bound, std::size_t limit) {
            return "there must be at " + std::string(bound) + " " + std::to_string(limit) + " " +
                   std::string(parts);
        };
        if (size < limits.least) {
            return violated(at, found, [&] { return words("least", limits.least); });
        }
        return size <= limits.most ||
               violated(at, found, [&] { return words("most", limits.most); });
    }

    bool is_one_of(const constants& wanted, const json::value& value) {
        const auto text = constant_text(value, wanted.longest, nulls_, budget_);
        if (!text) {
            return false;
        }
        budget_.take(4 + text->size() / 16);
        return std::ranges::binary_search(wanted.texts, *text);
    }

    bool satisfies_constants(
        const value_rules& rules, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        if (rules.constant != nullptr && !is_one_of(*rules.constant, value)) {
            return violated(at, found, [] { return "this is not the value of const"; });
        }
        return rules.choice == nullptr || is_one_of(*rules.choice, value) ||
               violated(at, found, [] { return "this is none of the values of enum"; });
    }

    bool satisfies_numbers(
        const value_rules& rules, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        if (rules.numbers == nullptr || !value.is_number()) {
            return true;
        }
        const number_limits& limits = *rules.numbers;
        budget_.take(4);
        const long double number = number_of(value);
        const auto satisfies = [&](const json::value& limit, std::string_view words, auto is_kept) {
            return limit.is_null() || is_kept(number, number_of(limit)) || violated(at, found, [&] {
                       return "this must be " + std::string(words) + json::serialize(limit);
                   });
        };
        const auto is_multiple = [](long double of, long double divisor) {
            return std::fmod(of, divisor) == 0;
        };
        return satisfies(limits.least, "at least ", std::greater_equal()) &&
               satisfies(limits.most, "at most ", std::less_equal()) &&
               satisfies(limits.above, "above ", std::greater()) &&
               satisfies(limits.below, "below ", std::less()) &&
               satisfies(limits.multiple_of, "a multiple of ", is_multiple);
    }

    bool satisfies_characters(
        const value_rules& rules, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        const json::string* const text = value.if_string();
        // A character has up to four bytes.
        if (text == nullptr ||
            (text->size() <= rules.characters.most && text->size() / 4 >= rules.characters.least)) {
            return true;
        }
        budget_.take_text(text->size());
        return satisfies_size(rules.characters, count_characters(*text), "characters", at, found);
    }

    bool satisfies_items(
        const value_rules& rules, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        const json::array* const list = value.if_array();
        if (list == nullptr) {
            return true;
        }
        bool fit = satisfies_size(rules.items, list->size(), "items", at, found);
        if (ends(fit, found) || rules.array == nullptr) {
            return fit;
        }
        const array_rules& wanted = *rules.array;
        for (std::size_t i = 0; i < list->size(); ++i) {
            const rule_index rule = i < wanted.first.size() ? wanted.first[i] : wanted.others;
            if (rule == no_rule) {
                break;
            }
            const value_path item{.outer = &at, .member = {}, .item = i, .is_item = true};
            fit = fits(rule, (*list)[i], item, found) && fit;
            if (ends(fit, found)) {
                return false;
            }
        }
        const bool contains =
            wanted.contains == no_rule || std::ranges::any_of(*list, [&](const json::value& each) {
                return fits(wanted.contains, each, at, nullptr);
            });
        return (contains ||
                violated(at, found, [] { return "no item fits the schema of contains"; })) &&
               fit;
    }

    bool satisfies_members(
        const value_rules& rules, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        const json::object* const object = value.if_object();
        if (object == nullptr || (rules.object == nullptr && rules.members == size_limits())) {
            return true;
        }
        static const object_rules no_rules;
        const object_rules& wanted = rules.object == nullptr ? no_rules : *rules.object;
        member_count count;
        if (wanted.required > 0 || !wanted.dependencies.empty()) {
            budget_.take(wanted.members.size() / 64);
            count.is_present.resize(wanted.members.size());
        }
        bool fit = true;
        for (const auto& [name, each] : *object) {
            budget_.take();
            if (nulls_ == null_members::are_absent && each.is_null()) {
                continue;
            }
            ++count.all;
            const rule_index rule = count_member(wanted, name, count);
            fit = satisfies_member(rule, name, each, at, found) && fit;
            if (ends(fit, found)) {
                return false;
            }
        }
        fit = satisfies_size(rules.members, count.all, "members", at, found) && fit;
        fit = !ends(fit, found) && has_required(wanted, count, at, found) && fit;
        return !ends(fit, found) && satisfies_dependencies(wanted, count, value, at, found) && fit;
    }

    bool satisfies_member(
        rule_index rule, std::string_view name, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        if (rule == no_rule) {
            return true;
        }
        if (rules_of(rule).refuses_all) { // The object has to change, not the member.
            return violated(at, found, [name] {
                return "the member " + quoted_member(name) + " is not allowed";
            });
        }
        const value_path member{.outer = &at, .member = name, .item = 0, .is_item = false};
        return fits(rule, value, member, found);
    }

    struct member_count {
        std::size_t all = 0;
        std::size_t required = 0;
        std::vector<bool> is_present; ///< By the index of the known member; empty if not needed.
    };

    // Returns the rule for the member.
    rule_index
    count_member(const object_rules& wanted, std::string_view name, member_count& count) {
        if (wanted.members.empty()) {
            return wanted.others;
        }
        budget_.take(4 + name.size() / 16);
        const auto known = std::ranges::lower_bound(wanted.members, name, {}, &known_member::name);
        if (known == wanted.members.end() || known->name != name) {
            return wanted.others;
        }
        count.required += known->is_required ? 1 : 0;
        if (!count.is_present.empty()) {
            count.is_present[static_cast<std::size_t>(known - wanted.members.begin())] = true;
        }
        return known->rule == no_rule ? wanted.others : known->rule;
    }

    // Looks for missing names only if there are any, and until the list is full.
    bool has_required(
        const object_rules& wanted, const member_count& count, const value_path& at,
        violation_list* found
    ) {
        if (count.required == wanted.required) {
            return true;
        }
        for (std::size_t i = 0; found != nullptr && i < wanted.members.size(); ++i) {
            budget_.take();
            if (wanted.members[i].is_required && !count.is_present[i]) {
                violated(at, found, [&] {
                    return "the member " + quoted_member(wanted.members[i].name) + " is missing";
                });
            }
            if (found->is_full()) {
                break;
            }
        }
        return false;
    }

    bool satisfies_dependencies(
        const object_rules& wanted, const member_count& count, const json::value& object,
        const value_path& at, violation_list* found
    ) {
        bool fit = true;
        for (const member_dependency& each : wanted.dependencies) {
            budget_.take();
            if (!count.is_present[each.member]) {
                continue;
            }
            budget_.take(each.needed.size());
            for (const std::size_t needed : each.needed) {
                const bool is_kept = count.is_present[needed] || violated(at, found, [&] {
                                         return "the member " +
                                                quoted_member(wanted.members[needed].name) +
                                                " is missing beside " +
                                                quoted_member(wanted.members[each.member].name);
                                     });
                fit = is_kept && fit;
                if (ends(fit, found)) {
                    return false;
                }
            }
            fit = (each.rule == no_rule || fits(each.rule, object, at, found)) && fit;
            if (ends(fit, found)) {
                return false;
            }
        }
        return fit;
    }

    bool satisfies_combinations(
        const value_rules& rules, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        if (rules.combined == nullptr) {
            return true;
        }
        const combined_rules& wanted = *rules.combined;
        bool fit = true;
        for (const rule_index each : wanted.all_of) {
            fit = fits(each, value, at, found) && fit;
            if (ends(fit, found)) {
                return false;
            }
        }
        fit = satisfies_choice(wanted.any_of, false, value, at, found) && fit;
        fit = !ends(fit, found) &&
              satisfies_choice(wanted.one_of, !schema_.is_loose, value, at, found) && fit;
        return !ends(fit, found) &&
               (schema_.is_loose || satisfies_conditions(wanted, value, at, found)) && fit;
    }

    bool satisfies_choice(
        const std::vector<rule_index>& alternatives, bool only_one, const json::value& value,
        const value_path& at, violation_list* found
    ) {
        std::size_t fitting = 0;
        for (const rule_index each : alternatives) {
            fitting += fits(each, value, at, nullptr) ? 1 : 0;
            if (fitting > (only_one ? 1 : 0)) {
                break;
            }
        }
        if (fitting > 1) {
            return violated(at, found, [] { return "more than one schema of oneOf fits"; });
        }
        if (fitting == 1 || alternatives.empty()) {
            return true;
        }
        if (found != nullptr) {
            tell_alternatives(alternatives, value, at, *found);
        }
        return false;
    }

    void tell_alternatives(
        const std::vector<rule_index>& alternatives, const json::value& value, const value_path& at,
        violation_list& found
    ) {
        violated(at, &found, [&alternatives] {
            return "none of " + std::to_string(alternatives.size()) + " alternatives fits";
        });
        // A list of one is full here, so alternatives within an alternative are not reported.
        const std::size_t told = std::min(alternatives.size(), max_alternatives_told);
        for (std::size_t i = 0; i < told && !found.is_full(); ++i) {
            violation_list first(1);
            fits(alternatives[i], value, at, &first);
            for (const std::string& text : first.texts()) {
                found.add(text);
            }
        }
    }

    bool satisfies_conditions(
        const combined_rules& wanted, const json::value& value, const value_path& at,
        violation_list* found
    ) {
        if (wanted.negated != no_rule && fits(wanted.negated, value, at, nullptr)) {
            return violated(at, found, [] { return "this fits the schema of not"; });
        }
        if (wanted.condition == no_rule) {
            return true;
        }
        const rule_index rule =
            fits(wanted.condition, value, at, nullptr) ? wanted.then : wanted.otherwise;
        return rule == no_rule || fits(rule, value, at, found);
    }

    const schema_rules& schema_;
    null_members nulls_;
    check_budget& budget_;
    std::size_t depth_ = 0;
};

const std::array<schema_checker::kind_of_rule, 6> schema_checker::kinds_of_rules{
    &schema_checker::satisfies_constants,  &schema_checker::satisfies_numbers,
    &schema_checker::satisfies_characters, &schema_checker::satisfies_items,
    &schema_checker::satisfies_members,    &schema_checker::satisfies_combinations,
};

} // namespace

check_result check_against(
    const schema_rules& rules, const json::value& value, null_members nulls, violation_list* found,
    check_budget& budget
) {
    try {
        schema_checker checker(rules, nulls, budget);
        return checker.fits(0, value, {}, found) ? check_result::fits : check_result::violates;
    } catch (const too_much_work&) {
        const bool is_known = found != nullptr && !found->texts().empty();
        return is_known ? check_result::violates : check_result::gave_up;
    }
}

} // namespace agui::runner
