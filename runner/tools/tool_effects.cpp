#include "runner/tools/tool_effects.hpp"

#include "runner/base/json_members.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>

namespace agui::runner {

namespace json = boost::json;

namespace {

// Values must not stay in the memory resource of the parsed answer, which counts it.
json::value own(const json::value& value) { return json::value(value, json::storage_ptr()); }

std::optional<session::state_change> state_in(const json::object& effects) {
    if (const json::value* const patch = effects.if_contains("statePatch")) {
        return session::state_change{.patch = own(*patch)};
    }
    if (const json::value* const whole = effects.if_contains("state")) {
        return session::state_change{.whole = json_text(json::serialize(*whole))};
    }
    return std::nullopt;
}

template <class Read>
void read_list(const json::object& effects, std::string_view key, Read read) {
    const json::array* const list = array_of(effects.if_contains(key));
    for (std::size_t i = 0; list != nullptr && i < std::min(list->size(), effects_max); ++i) {
        if (const json::object* const each = (*list)[i].if_object()) {
            read(*each);
        }
    }
}

} // namespace

std::shared_ptr<const tool_effects> read_tool_effects(const json::object& answer) {
    const json::object* const meta = object_in(answer, "_meta");
    const json::object* const effects =
        meta == nullptr ? nullptr : object_in(*meta, effects_member);
    if (effects == nullptr) {
        return nullptr;
    }
    auto made = std::make_shared<tool_effects>();
    made->state = state_in(*effects);
    read_list(*effects, "activities", [&](const json::object& each) {
        const json::object* const content = object_in(each, "content");
        const json::value* const replace = each.if_contains("replace");
        if (content != nullptr && !string_in(each, "type").empty()) {
            made->activities.push_back(
                {.id = std::string(string_in(each, "id")),
                 .type = std::string(string_in(each, "type")),
                 .content = json::object(*content, json::storage_ptr()),
                 .replace = replace == nullptr || *replace != json::value(false)}
            );
        }
    });
    read_list(*effects, "custom", [&](const json::object& each) {
        const json::value* const value = each.if_contains("value");
        if (value != nullptr && !string_in(each, "name").empty()) {
            made->customs.emplace_back(string_in(each, "name"), own(*value));
        }
    });
    return made->empty() ? nullptr : made;
}

} // namespace agui::runner
