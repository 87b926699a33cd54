#include "session/conversation/content_form.hpp"

#include "session/base/json_member.hpp"
#include "session/base/sorted_json.hpp"
#include "session/base/text_map.hpp"
#include "session/base/work_count.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace agui::session {

namespace json = boost::json;

namespace {

std::string_view modern_type(std::string_view mime_type) noexcept {
    for (const std::string_view kind : {"image", "audio", "video"}) {
        if (mime_type.starts_with(kind) && mime_type.substr(kind.size()).starts_with('/')) {
            return kind;
        }
    }
    return "document";
}

// The members that count in a comparison. The others are not even copied: attachments have
// megabytes.
json::object telling(const json::object& object, bool is_part) {
    json::object copy;
    for (const auto& [key, value] : object) {
        const bool is_left_out = is_part && (key == "id" || key == "metadata");
        if (!value.is_null() && !is_left_out) {
            copy.emplace(key, value);
        }
    }
    return copy;
}

// A `binary` part in its modern form; an empty object if it has neither data nor a URL, only a
// provider's file id.
json::object upgraded(const json::object& part) {
    const std::string_view mime_type = string_in(part, "mimeType");
    const std::string_view data = string_in(part, "data");
    const std::string_view url = string_in(part, "url");
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

// A modern part without its id and metadata.
json::object bare(const json::object& part) {
    json::object copy = telling(part, true);
    if (json::value* source = copy.if_contains("source");
        source != nullptr && source->is_object()) {
        *source = telling(source->get_object(), false);
    }
    return copy;
}

bool is_binary(const json::object& part) noexcept { return string_in(part, "type") == "binary"; }

// The modern parts of a content: some clients send a file in both the old and the modern form.
text_set modern_parts(const json::array& parts) {
    text_set modern;
    for (const json::value& part : parts) {
        if (part.is_object() && !is_binary(part.get_object())) {
            modern.insert(sorted_json(bare(part.get_object())));
        }
    }
    return modern;
}

bool holds_binary(const json::array& parts) noexcept {
    for (const json::value& part : parts) {
        if (part.is_object() && is_binary(part.get_object())) {
            return true;
        }
    }
    return false;
}

json::array normalised(const json::array& given) {
    count_work(given.size());
    text_set modern;
    if (holds_binary(given)) {
        modern = modern_parts(given);
    }
    json::array parts;
    for (const json::value& part : given) {
        const json::object* object = part.if_object();
        if (object == nullptr) {
            parts.push_back(part);
        } else if (is_binary(*object)) {
            json::object converted = upgraded(*object);
            if (!converted.empty() && !modern.contains(sorted_json(converted))) {
                parts.push_back(std::move(converted));
            }
        } else if (string_in(*object, "type") != "text" || !string_in(*object, "text").empty()) {
            parts.push_back(bare(*object));
        }
    }
    return parts;
}

// A single text part without further members equals a string.
bool is_plain_text(const json::array& parts) {
    return parts.size() == 1 && parts[0].is_object() && parts[0].get_object().size() == 2 &&
           string_in(parts[0].get_object(), "type") == "text" &&
           !string_in(parts[0].get_object(), "text").empty();
}

} // namespace

content_form::content_form(const content& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
        form_ = std::string_view(*text);
        return;
    }
    const auto& given = std::get<json::array>(value);
    json::array parts = normalised(given);
    if (parts.empty()) {
        form_ = std::string_view();
    } else if (is_plain_text(parts)) {
        // Refer to the given content, not to the copy, which is destroyed here.
        for (const json::value& part : given) {
            const json::object* object = part.if_object();
            if (object != nullptr && string_in(*object, "type") == "text" &&
                !string_in(*object, "text").empty()) {
                form_ = string_in(*object, "text");
            }
        }
    } else {
        form_ = std::move(parts);
    }
}

std::string content_form::key() const {
    if (const auto* text = std::get_if<std::string_view>(&form_)) {
        return "=" + std::string(*text);
    }
    return sorted_json(std::get<json::array>(form_));
}

} // namespace agui::session
