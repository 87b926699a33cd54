#include "translator/ui_message/ui_input_messages.hpp"

#include "session/base/json_member.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <boost/json/serialize.hpp>

#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

constexpr std::string_view ui_tool_prefix = "tool-";

/// A text of JSON.stringify, or the text itself.
std::string as_text(const json::value* value) {
    if (value == nullptr) {
        return {};
    }
    return value->is_string() ? std::string(value->get_string()) : json::serialize(*value);
}

/// The kind of AG-UI part for a media type; a client may leave out the subtype.
std::string_view part_type(std::string_view media_type) {
    for (const std::string_view kind : {"image", "audio", "video"}) {
        if (media_type.starts_with(kind)) {
            return kind;
        }
    }
    return "document";
}

result<json::object> read_file(const json::object& part, const std::string& path) {
    constexpr std::string_view data = "data:";
    constexpr std::string_view base64 = ";base64";
    const auto url = ui_text(part, "url", path);
    const auto type = ui_text(part, "mediaType", path);
    if (!url || !type) {
        return url ? type.error() : url.error();
    }
    if (url->empty()) {
        return ui_invalid(path + "url", "is required");
    }
    json::object source;
    std::string media_type(*type);
    if (url->starts_with(data)) {
        const std::size_t comma = url->find(',');
        const std::string_view about = url->substr(0, comma).substr(data.size());
        if (comma == std::string_view::npos || !about.ends_with(base64)) {
            return ui_invalid(path + "url", "must have its data as base64");
        }
        const std::string_view own = about.substr(0, about.find(';'));
        if (!own.empty()) {
            media_type = own;
        }
        source = {{"type", "data"}, {"value", url->substr(comma + 1)}};
    } else {
        source = {{"type", "url"}, {"value", *url}};
    }
    if (media_type.find('/') != std::string::npos) {
        source["mimeType"] = media_type;
    }
    json::object out{{"type", part_type(media_type)}, {"source", std::move(source)}};
    if (const std::string_view name = string_in(part, "filename"); !name.empty()) {
        out["metadata"] = json::object{{"filename", name}};
    }
    return out;
}

} // namespace

failure ui_invalid(std::string path, std::string_view rule) {
    return failure{errc::invalid_input, std::string(rule), std::move(path)};
}

std::string element(std::string_view of, std::size_t index) {
    return std::string(of) + '[' + std::to_string(index) + ']';
}

/// The text of a member; a member of another type is a failure, an absent one an empty text.
result<std::string_view>
ui_text(const json::object& of, std::string_view key, const std::string& path) {
    const json::value* const value = of.if_contains(key);
    if (value != nullptr && !value->is_string() && !value->is_null()) {
        return ui_invalid(path + std::string(key), "must be a string");
    }
    return string_in(of, key);
}

result<void> ui_input_messages::take(const json::object& message, const std::string& path) {
    const auto role = ui_text(message, "role", path);
    const auto id = ui_text(message, "id", path);
    if (!role || !id) {
        return role ? id.error() : role.error();
    }
    const json::value* const parts = message.if_contains("parts");
    if (parts == nullptr || !parts->is_array()) {
        return ui_invalid(path + "parts", "must be an array");
    }
    if (*role == "assistant") {
        is_continued_ = &message == continued_;
        return take_answer(message, parts->get_array(), path);
    }
    if (*role == "user" || *role == "system") {
        return take_content(message, parts->get_array(), path);
    }
    return ui_invalid(path + "role", "must be user, assistant or system");
}

result<void> ui_input_messages::take_content(
    const json::object& message, const json::array& parts, const std::string& path
) {
    json::array content;
    bool is_text = true;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string where = path + element("parts", i) + '.';
        const json::object* const part = parts[i].if_object();
        if (part == nullptr) {
            return ui_invalid(where.substr(0, where.size() - 1), "must be an object");
        }
        const std::string_view type = string_in(*part, "type");
        if (type == "text") {
            const auto text = ui_text(*part, "text", where);
            if (!text) {
                return text.error();
            }
            content.push_back(json::object{{"type", "text"}, {"text", *text}});
        } else if (type == "file") {
            auto file = read_file(*part, where);
            if (!file) {
                return file.error();
            }
            is_text = false;
            content.push_back(std::move(*file));
        }
    }
    json::object out{{"role", string_in(message, "role")}};
    if (const std::string_view id = string_in(message, "id"); !id.empty()) {
        out["id"] = id;
    }
    if (is_text && content.size() <= 1) {
        out["content"] = content.empty() ? json::value("") : content[0].at("text");
    } else {
        out["content"] = std::move(content);
    }
    messages_.push_back(std::move(out));
    return {};
}

result<void> ui_input_messages::take_answer(
    const json::object& message, const json::array& parts, const std::string& path
) {
    id_ = string_in(message, "id");
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string where = path + element("parts", i) + '.';
        const json::object* const part = parts[i].if_object();
        if (part == nullptr) {
            return ui_invalid(where.substr(0, where.size() - 1), "must be an object");
        }
        const std::string_view type = string_in(*part, "type");
        if (type == "step-start") {
            end_step();
        } else if (type == "text") {
            text_.append(string_in(*part, "text"));
        } else if (type.starts_with(ui_tool_prefix) || type == "dynamic-tool") {
            if (auto done = take_call(*part, where); !done) {
                return done;
            }
        }
    }
    end_step();
    return {};
}

result<void> ui_input_messages::take_call(const json::object& part, const std::string& path) {
    const auto call_id = ui_text(part, "toolCallId", path);
    const auto state = ui_text(part, "state", path);
    if (!call_id || !state) {
        return call_id ? state.error() : call_id.error();
    }
    const std::string_view type = string_in(part, "type");
    const std::string_view name = type.starts_with(ui_tool_prefix)
                                      ? type.substr(ui_tool_prefix.size())
                                      : string_in(part, "toolName");
    if (call_id->empty()) {
        return ui_invalid(path + "toolCallId", "is required");
    }
    if (is_continued_) {
        start_.calls.emplace(*call_id);
    }
    const json::value* const executed = part.if_contains("providerExecuted");
    const bool is_servers = executed != nullptr && executed->is_bool() && executed->get_bool();
    if (*state == "approval-responded") {
        take_approval(part, *call_id);
    }
    if (is_servers || *state == "input-streaming" || *state == "output-denied") {
        return {};
    }
    const json::value* input = part.if_contains("input");
    if (input == nullptr || input->is_null()) {
        input = part.if_contains("rawInput");
    }
    calls_.push_back(json::object{
        {"id", *call_id},
        {"type", "function"},
        {"function", json::object{{"name", name}, {"arguments", as_text(input)}}},
    });
    take_outcome(part, *state, *call_id);
    return {};
}

void ui_input_messages::take_outcome(
    const json::object& part, std::string_view state, std::string_view call_id
) {
    const json::value* const preliminary = part.if_contains("preliminary");
    const bool is_first = preliminary != nullptr && *preliminary == true;
    json::object answer{{"role", "tool"}, {"toolCallId", call_id}};
    if (state == "output-available" && !is_first) {
        answer["content"] = as_text(part.if_contains("output"));
    } else if (state == "output-error") {
        answer["content"] = string_in(part, "errorText");
        answer["error"] = string_in(part, "errorText");
    } else {
        return;
    }
    results_.push_back(std::move(answer));
}

void ui_input_messages::take_approval(const json::object& part, std::string_view call_id) {
    const json::object* const approval = if_object_in(part, "approval");
    if (!is_continued_ || approval == nullptr) {
        return;
    }
    json::object payload;
    for (const std::string_view name : {"approved", "reason", "editedArgs"}) {
        if (const json::value* const value = approval->if_contains(name)) {
            payload[name] = *value;
        }
    }
    const json::value* const approved = approval->if_contains("approved");
    if (approved != nullptr && *approved == false) {
        start_.denied_calls.emplace(call_id);
    }
    resume_.push_back(json::object{
        {"interruptId", string_in(*approval, "id")},
        {"status", "resolved"},
        {"payload", std::move(payload)},
    });
}

void ui_input_messages::end_step() {
    if (!text_.empty() || !calls_.empty()) {
        json::object out{{"role", "assistant"}};
        if (!id_.empty()) {
            out["id"] = std::exchange(id_, {});
        }
        if (!text_.empty()) {
            out["content"] = std::exchange(text_, {});
        }
        if (!calls_.empty()) {
            out["toolCalls"] = std::exchange(calls_, {});
        }
        messages_.push_back(std::move(out));
    }
    for (json::value& answer : results_) {
        messages_.push_back(std::move(answer));
    }
    results_.clear();
}

} // namespace agui::translator
