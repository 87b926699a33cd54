#include "session/message.hpp"

#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

constexpr std::pair<role, std::string_view> role_names[] = {
    {role::developer, "developer"}, {role::system, "system"}, {role::user, "user"},
    {role::assistant, "assistant"}, {role::tool, "tool"},     {role::activity, "activity"},
    {role::reasoning, "reasoning"},
};

std::string_view string_member(const json::object& object, std::string_view key) noexcept {
    const json::value* value = object.if_contains(key);
    const json::string* text = value == nullptr ? nullptr : value->if_string();
    return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::string_view modern_type(std::string_view mime_type) noexcept {
    for (const std::string_view kind : {"image", "audio", "video"}) {
        if (mime_type.starts_with(kind) && mime_type.substr(kind.size()).starts_with('/')) {
            return kind;
        }
    }
    return "document";
}

json::object without_nulls(const json::object& object) {
    json::object copy;
    for (const auto& [key, value] : object) {
        if (!value.is_null()) {
            copy.emplace(key, value);
        }
    }
    return copy;
}

// A `binary` part in its modern form; an empty object if it only holds a provider's file id.
json::object upgraded(const json::object& part) {
    const std::string_view mime_type = string_member(part, "mimeType");
    const std::string_view data = string_member(part, "data");
    const std::string_view url = string_member(part, "url");
    json::object source;
    if (!data.empty()) {
        source = {{"type", "data"}, {"value", data}, {"mimeType", mime_type}};
    } else if (!url.empty()) {
        source = {{"type", "url"}, {"value", url}, {"mimeType", mime_type}};
    } else {
        return {};
    }
    return {{"type", modern_type(mime_type)}, {"source", std::move(source)}};
}

// What a modern part says, without its id and metadata.
json::object bare(const json::object& part) {
    json::object copy = without_nulls(part);
    copy.erase("id");
    copy.erase("metadata");
    if (json::value* source = copy.if_contains("source");
        source != nullptr && source->is_object()) {
        *source = without_nulls(source->get_object());
    }
    return copy;
}

json::array normalised(const content& value) {
    json::array parts;
    if (const auto* text = std::get_if<std::string>(&value)) {
        if (!text->empty()) {
            parts.push_back({{"type", "text"}, {"text", *text}});
        }
        return parts;
    }

    const auto& given = std::get<json::array>(value);
    json::array modern;
    for (const json::value& part : given) {
        if (part.is_object() && string_member(part.get_object(), "type") != "binary") {
            modern.push_back(bare(part.get_object()));
        }
    }
    for (const json::value& part : given) {
        if (!part.is_object()) {
            parts.push_back(part);
            continue;
        }
        const json::object& object = part.get_object();
        const std::string_view type = string_member(object, "type");
        if (type == "text" && string_member(object, "text").empty()) {
            continue;
        }
        if (type != "binary") {
            parts.push_back(bare(object));
            continue;
        }
        // Clients of the transition send a file twice, in both forms: the modern one counts.
        json::object converted = upgraded(object);
        if (!converted.empty() && std::ranges::find(modern, converted) == modern.end()) {
            parts.push_back(std::move(converted));
        }
    }
    return parts;
}

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

std::string text_of(const content& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        return *text;
    }
    std::string joined;
    for (const json::value& part : std::get<json::array>(value)) {
        if (part.is_object() && string_member(part.get_object(), "type") == "text") {
            joined += string_member(part.get_object(), "text");
        }
    }
    return joined;
}

bool is_empty(const content& value) noexcept {
    return std::visit([](const auto& held) { return held.empty(); }, value);
}

bool same_content(const content& left, const content& right) {
    const auto* left_text = std::get_if<std::string>(&left);
    const auto* right_text = std::get_if<std::string>(&right);
    if (left_text != nullptr && right_text != nullptr) {
        return *left_text == *right_text;
    }
    return normalised(left) == normalised(right);
}

} // namespace agui::session
