#include "session/conversation/prompt_record.hpp"

#include "session/base/json_member.hpp"

#include <boost/json/value_from.hpp>

#include <algorithm>
#include <string_view>

namespace agui::session {

namespace {

namespace json = boost::json;

std::vector<std::string> names_in(const json::object& object, std::string_view key) {
    std::vector<std::string> names;
    const json::value* const value = object.if_contains(key);
    if (value != nullptr && value->is_array()) {
        for (const json::value& name : value->get_array()) {
            if (name.is_string()) {
                names.emplace_back(name.get_string());
            }
        }
    }
    return names;
}

bool flag_in(const json::object& object, std::string_view key) {
    const json::value* const value = object.if_contains(key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

json::object to_json(const prompt_beginning& value) {
    json::object object{{"agent", value.agent_id}, {"source", value.source}};
    if (value.instructions) {
        object.emplace("instructions", *value.instructions);
    }
    if (value.holds_context) {
        object.emplace("holdsContext", true);
    }
    if (value.holds_state) {
        object.emplace("holdsState", true);
    }
    return object;
}

std::optional<prompt_beginning> beginning_from_json(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return std::nullopt;
    }
    prompt_beginning read;
    read.agent_id = string_in(*object, "agent");
    read.source = string_in(*object, "source");
    if (object->contains("instructions")) {
        read.instructions = string_in(*object, "instructions");
    }
    read.holds_context = flag_in(*object, "holdsContext");
    read.holds_state = flag_in(*object, "holdsState");
    return read;
}

} // namespace

json::object to_json(const prompt_record& value) {
    json::object object;
    if (value.begins) {
        object.emplace("begins", to_json(*value.begins));
    }
    if (!value.values.empty()) {
        json::object values;
        for (const auto& [name, told] : value.values) {
            values.emplace(name, told);
        }
        object.emplace("values", std::move(values));
    }
    if (!value.context.empty()) {
        object.emplace("context", value.context);
    }
    if (!value.state.empty()) {
        object.emplace("state", value.state);
    }
    if (!value.tools.empty()) {
        object.emplace("tools", json::value_from(value.tools));
    }
    if (!value.undeclared.empty()) {
        object.emplace("undeclared", json::value_from(value.undeclared));
    }
    if (!value.withdrawn.empty()) {
        object.emplace("withdrawn", value.withdrawn);
    }
    return object;
}

std::optional<prompt_record> prompt_record_from_json(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object == nullptr) {
        return std::nullopt;
    }
    prompt_record read;
    if (const json::value* const begins = object->if_contains("begins")) {
        read.begins = beginning_from_json(*begins);
    }
    const json::value* const values = object->if_contains("values");
    if (values != nullptr && values->is_object()) {
        for (const auto& [name, told] : values->get_object()) {
            if (told.is_string()) {
                read.values.emplace_back(name, std::string(told.get_string()));
            }
        }
    }
    read.context = string_in(*object, "context");
    read.state = string_in(*object, "state");
    read.tools = names_in(*object, "tools");
    read.undeclared = names_in(*object, "undeclared");
    const json::value* const withdrawn = object->if_contains("withdrawn");
    if (withdrawn != nullptr && withdrawn->is_array()) {
        for (const json::value& tool : withdrawn->get_array()) {
            const json::object* const definition = tool.if_object();
            if (definition != nullptr && !string_in(*definition, "name").empty()) {
                read.withdrawn.emplace_back(json::object(*definition, json::storage_ptr()));
            }
        }
    }
    return read;
}

} // namespace agui::session
