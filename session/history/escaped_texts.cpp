#include "session/history/escaped_texts.hpp"

#include "session/conversation/media_part.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

namespace agui::session {

namespace {

namespace json = boost::json;

void escape_member(json::object& of, std::string_view name, text_end end, text_escape escape) {
    json::value* const text = of.if_contains(name);
    if (text == nullptr || !text->is_string() ||
        text->get_string().find('<') == json::string::npos) {
        return;
    }
    std::string escaped(text->get_string());
    escape(escaped, end);
    if (escaped.size() != text->get_string().size()) {
        *text = escaped;
    }
}

bool is_text_type(std::string_view mime_type) noexcept {
    return mime_type.starts_with("text/") || mime_type.ends_with("json") ||
           mime_type.ends_with("xml") || mime_type.ends_with("yaml");
}

void escape_document(json::object& part, text_escape escape) {
    const media_part given = read_media_part(part);
    if (given.what != media_part::kind::document || given.from != media_part::source::data ||
        !is_text_type(given.mime_type)) {
        return;
    }
    std::optional<std::string> text = decode_base64(given.value);
    if (!text) {
        return;
    }
    const std::size_t before = text->size();
    escape(*text, text_end::closed);
    if (text->size() == before) {
        return;
    }
    const std::string data = encode_base64(*text);
    const json::value type(given.mime_type);
    const json::value* const source = part.if_contains("source");
    if (source != nullptr && source->is_object()) {
        part["source"] = {{"type", "data"}, {"value", data}, {"mimeType", type}};
    } else { // A legacy part, whose data precedes its URL.
        part["data"] = data;
        part["mimeType"] = type;
        part.erase("url");
    }
}

void escape_part(json::object& part, text_escape escape) {
    escape_member(part, "text", text_end::continued, escape);
    escape_member(part, "filename", text_end::closed, escape);
    if (json::value* const metadata = part.if_contains("metadata");
        metadata != nullptr && metadata->is_object()) {
        escape_member(metadata->get_object(), "filename", text_end::closed, escape);
    }
    escape_document(part, escape);
}

} // namespace

void escape_texts(content& value, text_end end, text_escape escape) {
    if (auto* const text = std::get_if<std::string>(&value)) {
        escape(*text, end);
        return;
    }
    for (json::value& part : std::get<json::array>(value)) {
        if (json::object* const object = part.if_object()) {
            escape_part(*object, escape);
        }
    }
}

} // namespace agui::session
