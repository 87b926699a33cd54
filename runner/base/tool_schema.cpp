#include "runner/base/tool_schema.hpp"

#include "runner/base/json_members.hpp"
#include "session/base/ascii.hpp"
#include "session/base/contains.hpp"

#include <boost/json/array.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace json = boost::json;

namespace {

/// Limit of a chain of references. Generators make chains of one.
constexpr int reference_hops_max = 8;
/// Limit for one schema, including choices within choices: a request is made for each model call,
/// and each choice may refer to a large part. Larger unions do not occur in practice.
constexpr int choices_max = 64;
/// Values that all choices of a schema may copy, nested ones included: 64 references to one large
/// part are 64 copies. Generated unions have fewer than 5 000.
constexpr std::size_t choice_values_max = 20'000;

constexpr std::array<std::string_view, 3> choice_keys{"allOf", "anyOf", "oneOf"};

/// The object in `root` that `schema` refers to (`#/$defs/Arguments`), or null.
const json::object* referred(const json::object& schema, const json::value& root) {
    const std::string_view reference = string_in(schema, "$ref");
    if (!reference.starts_with("#/")) {
        return nullptr;
    }
    boost::system::error_code ec;
    const json::value* const found = root.find_pointer(reference.substr(1), ec);
    return found == nullptr ? nullptr : found->if_object();
}

/// Members of a schema for which null is a value.
bool may_be_null(std::string_view key) noexcept { return key == "default" || key == "const"; }

/// Adds the members that `to` does not have yet.
void lay_under(json::object& to, const json::object& from) {
    for (const auto& member : from) {
        const std::string_view key = member.key();
        if (key != "$ref" && (!member.value().is_null() || may_be_null(key))) {
            to.emplace(key, member.value());
        }
    }
}

bool is_object_type(const json::value& type) {
    return equal_ignoring_case(text_of(&type), "object"); // Google's libraries write OBJECT.
}

/// True if the schema describes values that are no objects.
bool is_of_others(const json::value* type, bool has_properties) {
    if (type == nullptr || type->is_null() || has_properties || is_object_type(*type)) {
        return false;
    }
    const json::array* const types = type->if_array();
    return types == nullptr || std::ranges::none_of(*types, is_object_type);
}

std::set<std::string_view> texts_of(const json::array& list) {
    std::set<std::string_view> texts;
    for (const json::value& each : list) {
        if (each.is_string()) {
            texts.insert(each.get_string());
        }
    }
    return texts;
}

std::size_t values_in(const json::object& object);

/// Number of values within a value, including itself. Stops soon after choice_values_max.
std::size_t values_in(const json::value& value) {
    if (const json::object* const object = value.if_object()) {
        return 1 + values_in(*object);
    }
    std::size_t count = 1;
    if (const json::array* const list = value.if_array()) {
        for (auto at = list->begin(); at != list->end() && count <= choice_values_max; ++at) {
            count += values_in(*at);
        }
    }
    return count;
}

std::size_t values_in(const json::object& object) {
    std::size_t count = 0;
    for (auto at = object.begin(); at != object.end() && count <= choice_values_max; ++at) {
        count += values_in(at->value());
    }
    return count;
}

/// The members of an object that a schema describes.
struct object_members {
    json::object properties;
    json::array required;

    void add_property(std::string_view name, const json::value& schema, std::string_view key) {
        const auto [known, added] = properties.emplace(name, schema);
        if (added || known->value() == schema) {
            return;
        }
        // The choices differ in this property, for example in the constant that distinguishes them.
        json::object* const both = known->value().if_object();
        json::array* const listed = both != nullptr && both->size() == 1 && both->contains(key)
                                        ? both->at(key).if_array()
                                        : nullptr;
        if (listed == nullptr) {
            known->value() = json::object{{key, json::array{known->value(), schema}}};
        } else if (!contains(*listed, schema)) {
            listed->push_back(schema);
        }
    }

    void require(const json::array& names) {
        for (const json::value& name : names) {
            if (name.is_string() && known_.emplace(name.get_string()).second) {
                required.push_back(name);
            }
        }
    }

    /// Stops soon after choice_values_max.
    [[nodiscard]] std::size_t count_values() const {
        return values_in(properties) + required.size();
    }

private:
    std::set<std::string, std::less<>> known_; ///< The names in `required`.
};

class choice_folder {
public:
    explicit choice_folder(const json::value& root) noexcept : root_(root) {}

    /// The members of the schema and of its choices; nullopt if it describes values that are no
    /// objects.
    std::optional<object_members> gather(const json::object& schema) {
        object_members all;
        const json::value* type = nullptr;
        const json::object* from = &schema;
        for (int hops = 0; from != nullptr && hops <= reference_hops_max; ++hops) {
            type = type == nullptr ? from->if_contains("type") : type;
            if (const json::object* const own = object_in(*from, "properties")) {
                values_ += values_in(*own);
                for (const auto& [name, property] : *own) {
                    all.properties.emplace(name, property);
                }
            }
            if (const json::array* const required = array_in(*from, "required")) {
                all.require(*required);
            }
            for (const std::string_view key : choice_keys) {
                if (const json::array* const choices = array_in(*from, key)) {
                    add_choices(all, *choices, key);
                }
            }
            from = referred(*from, root_);
        }
        if (is_of_others(type, !all.properties.empty())) {
            return std::nullopt;
        }
        return all;
    }

private:
    void add_choices(object_members& all, const json::array& choices, std::string_view key) {
        const bool each_holds = key == "allOf";
        std::optional<json::array> common; // Names that every choice requires.
        for (const json::value& choice : choices) {
            if (!choice.is_object()) {
                continue;
            }
            if (choices_ == choices_max || values_ > choice_values_max) {
                common.emplace(); // The names that this choice requires are unknown.
                continue;
            }
            ++choices_;
            const std::optional<object_members> its = gather(choice.get_object());
            if (!its) {
                continue;
            }
            values_ += its->count_values(); // Copied once more at each level of choices.
            if (values_ > choice_values_max) {
                common.emplace();
                continue;
            }
            for (const auto& [name, property] : its->properties) {
                all.add_property(name, property, each_holds ? "allOf" : "anyOf");
            }
            if (each_holds) {
                all.require(its->required);
            } else if (!common) {
                common = its->required;
            } else {
                keep_common(*common, its->required);
            }
        }
        if (common) {
            all.require(*common);
        }
    }

    static void keep_common(json::array& common, const json::array& others) {
        const std::set<std::string_view> names = texts_of(others);
        json::array kept;
        for (json::value& name : common) {
            if (names.contains(name.get_string())) {
                kept.push_back(std::move(name));
            }
        }
        common = std::move(kept);
    }

    const json::value& root_;
    int choices_ = 0;
    std::size_t values_ = 0;
};

json::object object_schema(const json::value& given) {
    json::object laid;
    const json::object* from = given.if_object();
    for (int hops = 0; from != nullptr && hops <= reference_hops_max; ++hops) {
        lay_under(laid, *from);
        from = referred(*from, given);
    }
    if (is_of_others(laid.if_contains("type"), object_in(laid, "properties") != nullptr)) {
        laid.clear();
    }
    json::object schema;
    if (!laid.contains("type")) {
        schema.emplace("type", "object"); // First member, where readers of a schema look first.
    }
    lay_under(schema, laid);
    schema["type"] = "object";
    json::value& properties = schema["properties"];
    if (!properties.is_object()) { // PHP writes an empty object as `[]`.
        properties = json::object();
    }
    return schema;
}

} // namespace

json::object tool_schema(const json::value& given) {
    json::object schema = object_schema(given);
    const bool has_choices = std::ranges::any_of(choice_keys, [&](std::string_view key) {
        return schema.contains(key);
    });
    if (has_choices) {
        object_members all = choice_folder(given).gather(schema).value_or(object_members());
        schema["properties"] = std::move(all.properties);
        if (!all.required.empty()) {
            schema["required"] = std::move(all.required);
        }
    }
    for (const std::string_view key : {"allOf", "anyOf", "oneOf", "not", "enum"}) {
        schema.stable_erase(key);
    }
    return schema;
}

bool describes_objects(const json::value& schema) {
    return !schema.is_object() || choice_folder(schema).gather(schema.get_object()).has_value();
}

} // namespace agui::runner
