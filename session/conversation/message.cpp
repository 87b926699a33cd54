#include "session/conversation/message.hpp"

#include "session/base/json_member.hpp"
#include "session/base/white_space.hpp"
#include "session/conversation/content_form.hpp"
#include "session/conversation/prompt_record.hpp"

#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

constexpr std::pair<role, std::string_view> role_names[] = {
    {role::developer, "developer"}, {role::system, "system"}, {role::user, "user"},
    {role::assistant, "assistant"}, {role::tool, "tool"},     {role::activity, "activity"},
    {role::reasoning, "reasoning"},
};

} // namespace

std::string_view to_string(role value) noexcept {
    for (const auto& [known, name] : role_names) {
        if (known == value) {
            return name;
        }
    }
    return "user";
}

std::optional<role> role_from_string(std::string_view name) noexcept {
    for (const auto& [known, known_name] : role_names) {
        if (known_name == name) {
            return known;
        }
    }
    return std::nullopt;
}

namespace {

template <class T>
bool same_value(const std::shared_ptr<const T>& left, const std::shared_ptr<const T>& right) {
    return left == right || (left && right && *left == *right);
}

} // namespace

bool operator==(const message& left, const message& right) {
    const auto members = [](const message& of) {
        return std::tie(
            of.id, of.role, of.content, of.name, of.tool_calls, of.tool_call_id, of.error,
            of.activity_type, of.activity, of.subagent_run_id, of.encrypted_value,
            of.encrypted_value_type, of.metadata, of.approval_answer, of.by_plugin
        );
    };
    return same_value(left.origin, right.origin) && same_value(left.for_model, right.for_model) &&
           same_value(left.prompt, right.prompt) && members(left) == members(right);
}

bool is_system(const message& value) noexcept {
    return value.role == role::system || value.role == role::developer;
}

bool begins_user_turn(const message& value) noexcept {
    return value.role == role::user && value.subagent_run_id.empty() && !value.by_plugin;
}

bool is_withdrawn(const message& value) noexcept {
    return value.origin && value.origin->end == turn_end::refused;
}

std::string text_of(const content& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return *text;
    }
    std::string joined;
    for (const json::value& part : std::get<json::array>(value)) {
        if (part.is_object() && string_in(part.get_object(), "type") == "text") {
            joined += string_in(part.get_object(), "text");
        }
    }
    return joined;
}

bool is_empty(const content& value) noexcept {
    return std::visit([](const auto& held) { return held.empty(); }, value);
}

bool is_blank(const content& value) noexcept {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return agui::is_blank(*text);
    }
    return std::ranges::all_of(std::get<json::array>(value), [](const json::value& part) {
        const json::object* const object = part.if_object();
        return object != nullptr && string_in(*object, "type") == "text" &&
               agui::is_blank(string_in(*object, "text"));
    });
}

bool same_content(const content& left, const content& right) {
    return content_form(left) == content_form(right);
}

} // namespace agui::session
