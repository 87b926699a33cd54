#include "translator/ui_message/ui_values.hpp"

#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "session/history/missing_result.hpp"
#include "translator/agui/event_writer.hpp"

#include <boost/json/array.hpp>

#include <cstddef>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

// Values nested deeper stay texts.
constexpr std::size_t max_value_depth = 64;
// A double holds every integer of this length; a longer number could be an id.
constexpr std::size_t max_number_size = 15;
constexpr std::string_view made_media = "generated-media";

} // namespace

const json::object* if_object_in(const json::object& of, std::string_view key) noexcept {
    const json::value* const found = of.if_contains(key);
    return found == nullptr ? nullptr : found->if_object();
}

const json::array* if_array_in(const json::object& of, std::string_view key) noexcept {
    const json::value* const found = of.if_contains(key);
    return found == nullptr ? nullptr : found->if_array();
}

json::value ui_output(std::string_view text) {
    auto read = parse_json(text, {.max_depth = max_value_depth});
    if (!read || read->is_string() || (read->is_number() && text.size() > max_number_size)) {
        return json::value(text);
    }
    return std::move(*read);
}

json::value ui_output(const json::value& content) {
    return content.is_string() ? ui_output(std::string_view(content.get_string())) : content;
}

std::optional<json::value> ui_input(std::string_view text) {
    if (text.empty()) {
        return json::object();
    }
    auto read = parse_json(text, {.max_depth = max_value_depth});
    return read ? std::optional(std::move(*read)) : std::nullopt;
}

std::string ui_error(const json::value& content) {
    if (!content.is_string()) {
        std::string text;
        append_json(text, content);
        return text;
    }
    const std::string_view text = content.get_string();
    const auto read = parse_json(text);
    const json::object* const object = read ? read->if_object() : nullptr;
    if (object != nullptr && object->size() == 1) {
        if (const std::string_view reason = string_in(*object, "error"); !reason.empty()) {
            return std::string(reason);
        }
    }
    return std::string(text);
}

bool is_denial(const json::object& tool_message, std::string_view call_id) {
    if (string_in(tool_message, "id") != session::missing_result_id(call_id)) {
        return false;
    }
    // The person's words may follow in place of the full stop.
    std::string_view sentence = session::missing_answer(session::call_status::denied);
    sentence.remove_suffix(1);
    const json::value* const content = tool_message.if_contains("content");
    return content != nullptr && ui_error(*content).starts_with(sentence);
}

std::string answer_id(std::string_view user_message_id) {
    return std::string(user_message_id).append("-answer");
}

std::string file_url(const json::object& source) {
    const std::string_view type = string_in(source, "type");
    const std::string_view value = string_in(source, "value");
    if (type == "url") {
        return std::string(value);
    }
    if (type != "data") {
        return {};
    }
    std::string url("data:");
    url.append(string_in(source, "mimeType")).append(";base64,").append(value);
    return url;
}

std::optional<json::object> made_file(std::string_view activity_type, const json::object& content) {
    const std::string_view url = string_in(content, "url");
    if (activity_type != made_media || url.empty()) {
        return std::nullopt;
    }
    return json::object{
        {"type", "file"}, {"url", url}, {"mediaType", string_in(content, "mimeType")}
    };
}

} // namespace agui::translator
