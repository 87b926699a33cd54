#include "session/conversation/message_json.hpp"

#include "session/base/json_member.hpp"
#include "session/conversation/prompt_record.hpp"

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agui::session {

namespace json = boost::json;

namespace {

void put(json::object& object, std::string_view key, const std::optional<std::string>& value) {
    if (value) {
        object.emplace(key, *value);
    }
}

void put_nonempty(json::object& object, std::string_view key, std::string_view value) {
    if (!value.empty()) {
        object.emplace(key, value);
    }
}

json::object to_json(const tool_call& call) {
    json::object object;
    object.emplace("id", call.id);
    object.emplace("type", "function");
    object.emplace("function", json::object{{"name", call.name}, {"arguments", call.arguments}});
    put(object, "encryptedValue", call.encrypted_value);
    put(object, "encryptedValueType", call.encrypted_value_type);
    return object;
}

// Reads the members of one object. Of all failures the first one is kept; the caller drops the
// values read after it.
class member_reader {
public:
    member_reader(const json::object& object, std::string prefix, std::optional<failure>& error)
        : object_(object), prefix_(std::move(prefix)), error_(error) {}

    /// The member, in either spelling, or null if it is absent or null.
    [[nodiscard]] const json::value* find(std::string_view key) const noexcept {
        return find_member(object_, key);
    }

    [[nodiscard]] std::optional<std::string> text(std::string_view key) {
        const json::value* value = find(key);
        if (value == nullptr) {
            return std::nullopt;
        }
        if (!value->is_string()) {
            fail(key, "must be a string");
            return std::nullopt;
        }
        return std::string(value->get_string());
    }

    /// The member `key` or, if it is absent, the one with the `older` name.
    [[nodiscard]] std::optional<std::string> text(std::string_view key, std::string_view older) {
        std::optional<std::string> value = text(key);
        return value || error_ ? value : text(older);
    }

    [[nodiscard]] std::string required_text(std::string_view key) {
        std::optional<std::string> value = text(key);
        if (!value) {
            fail(key, "is required");
        }
        return std::move(value).value_or(std::string());
    }

    [[nodiscard]] const json::object* object(std::string_view key) {
        const json::value* value = find(key);
        if (value == nullptr) {
            return nullptr;
        }
        if (!value->is_object()) {
            fail(key, "must be an object");
        }
        return value->if_object();
    }

    [[nodiscard]] const json::array* array(std::string_view key) {
        const json::value* value = find(key);
        if (value == nullptr) {
            return nullptr;
        }
        if (!value->is_array()) {
            fail(key, "must be an array");
        }
        return value->if_array();
    }

    /// Checks an object that the protocol defines.
    void check_count() {
        if (const result<void> checked = check_protocol_object(object_); !checked) {
            fail({}, checked.error().detail);
        }
    }

    void fail(std::string_view key, std::string_view what) {
        if (error_) {
            return;
        }
        std::string path = prefix_;
        if (!path.empty() && !key.empty()) {
            path.push_back('.');
        }
        path += key;
        error_ = failure{errc::invalid_input, path + ": " + std::string(what), path};
    }

private:
    const json::object& object_;
    std::string prefix_;
    std::optional<failure>& error_;
};

std::string indexed(std::string_view key, std::size_t index) {
    return std::string(key) + "[" + std::to_string(index) + "]";
}

content
read_content(const json::value* value, member_reader& message, std::optional<failure>& error) {
    if (value == nullptr) {
        return std::string();
    }
    if (value->is_string()) {
        return std::string(value->get_string());
    }
    if (!value->is_array()) {
        message.fail("content", "must be a string or an array of parts");
        return std::string();
    }
    const json::array& parts = value->get_array();
    for (std::size_t i = 0; i < parts.size() && !error; ++i) {
        if (!parts[i].is_object()) {
            message.fail(indexed("content", i), "must be an object");
            break;
        }
        member_reader part(parts[i].get_object(), indexed("content", i), error);
        const std::string type = part.required_text("type");
        if (type == "text") {
            (void)part.required_text("text"); // Only checked: the part is kept as it is.
        }
    }
    // A plain copy would stay in the memory resource of the parsed request.
    return json::array(parts, json::storage_ptr());
}

tool_call
read_tool_call(const json::value& value, const std::string& path, std::optional<failure>& error) {
    tool_call call;
    static const json::object none;
    if (!value.is_object()) {
        member_reader(none, path, error).fail({}, "must be an object");
        return call;
    }
    member_reader reader(value.get_object(), path, error);
    reader.check_count();
    call.id = reader.required_text("id");
    (void)reader.text("type"); // Its value does not matter: there is only "function".
    call.encrypted_value = reader.text("encryptedValue");
    call.encrypted_value_type = reader.text("encryptedValueType");
    const json::object* function = reader.object("function");
    if (function == nullptr) {
        reader.fail("function", "is required");
        return call;
    }
    member_reader inner(*function, path + ".function", error);
    inner.check_count();
    call.name = inner.required_text("name");
    call.arguments = inner.text("arguments").value_or(std::string());
    return call;
}

void read_assistant(message& result, member_reader& reader, std::optional<failure>& error) {
    const json::array* calls = reader.array("toolCalls");
    for (std::size_t i = 0; calls != nullptr && i < calls->size() && !error; ++i) {
        result.tool_calls.push_back(read_tool_call((*calls)[i], indexed("toolCalls", i), error));
    }
}

void read_tool(message& result, member_reader& reader) {
    std::optional<std::string> call_id = reader.text("toolCallId", "tool_id");
    if (!call_id || call_id->empty()) {
        reader.fail("toolCallId", "is required");
        return;
    }
    result.tool_call_id = std::move(*call_id);
    result.name = reader.text("name", "tool_name");
    result.error = reader.text("error");
}

void read_activity(message& result, member_reader& reader) {
    result.activity_type = reader.text("activityType").value_or(std::string());
    if (const json::object* activity = reader.object("content")) {
        result.activity = *activity;
    }
}

} // namespace

json::object to_json(const message& value) {
    json::object object;
    object.emplace("id", value.id);
    object.emplace("role", to_string(value.role));
    if (value.role == role::activity) {
        object.emplace("content", value.activity);
    } else if (const auto* text = std::get_if<std::string>(&value.content)) {
        // Only an assistant message may have no content: the other roles require it.
        if (!text->empty() || value.role != role::assistant) {
            object.emplace("content", *text);
        }
    } else {
        object.emplace("content", std::get<json::array>(value.content));
    }
    put(object, "name", value.name);
    if (!value.tool_calls.empty()) {
        json::array calls;
        calls.reserve(value.tool_calls.size());
        for (const tool_call& call : value.tool_calls) {
            calls.emplace_back(to_json(call));
        }
        object.emplace("toolCalls", std::move(calls));
    }
    put_nonempty(object, "toolCallId", value.tool_call_id);
    put(object, "error", value.error);
    put_nonempty(object, "activityType", value.activity_type);
    put(object, "encryptedValue", value.encrypted_value);
    put(object, "encryptedValueType", value.encrypted_value_type);
    put_nonempty(object, "subagentRunId", value.subagent_run_id);
    if (value.metadata) {
        object.emplace("metadata", *value.metadata);
    }
    return object;
}

json::object to_stored_json(const message& value) {
    json::object object = to_json(value);
    put_nonempty(object, "approvalAnswer", value.approval_answer);
    const auto* const parts = std::get_if<json::array>(&value.content);
    if (value.role == role::activity && parts != nullptr) {
        object.emplace("parts", *parts);
    }
    if (value.by_plugin) {
        object.emplace("byPlugin", true);
    }
    if (value.origin) {
        object.emplace("origin", to_json(*value.origin));
    }
    if (value.for_model) {
        const auto* text = std::get_if<std::string>(value.for_model.get());
        object.emplace(
            "forModel", text != nullptr ? json::value(*text)
                                        : json::value(std::get<json::array>(*value.for_model))
        );
    }
    if (value.prompt) {
        object.emplace("prompt", to_json(*value.prompt));
    }
    return object;
}

result<message> message_from_stored_json(const json::value& value) {
    result<message> read = message_from_json(value);
    const json::object* const object = value.if_object();
    if (read) {
        const json::value* const by_plugin = object->if_contains("byPlugin");
        read->by_plugin = by_plugin != nullptr && by_plugin->if_bool() && by_plugin->get_bool();
        if (read->role == role::tool) {
            read->approval_answer = string_in(*object, "approvalAnswer");
        }
        const json::value* const parts = object->if_contains("parts");
        if (read->role == role::activity && parts != nullptr && parts->is_array()) {
            read->content = json::array(parts->get_array(), json::storage_ptr());
        }
    }
    const json::value* const origin = object == nullptr ? nullptr : object->if_contains("origin");
    if (read && origin != nullptr && read->role == role::assistant) {
        if (std::optional<turn_origin> known = turn_origin_from_json(*origin)) {
            read->origin = std::make_shared<const turn_origin>(*std::move(known));
        }
    }
    const json::value* const model = object == nullptr ? nullptr : object->if_contains("forModel");
    if (read && model != nullptr && (read->role == role::tool || read->role == role::assistant)) {
        std::optional<failure> error;
        member_reader reader(*object, {}, error);
        content told = read_content(model, reader, error);
        if (!error) {
            read->for_model = std::make_shared<const content>(std::move(told));
        }
    }
    const json::value* const prompt = object == nullptr ? nullptr : object->if_contains("prompt");
    if (read && prompt != nullptr && (read->role == role::user || read->role == role::tool)) {
        if (std::optional<prompt_record> known = prompt_record_from_json(*prompt)) {
            read->prompt = std::make_shared<const prompt_record>(*std::move(known));
        }
    }
    return read;
}

result<message> message_from_json(const json::value& value) {
    std::optional<failure> error;
    static const json::object none;
    const json::object* object = value.if_object();
    member_reader reader(object == nullptr ? none : *object, {}, error);
    if (object == nullptr) {
        return failure{errc::invalid_input, "a message must be an object"};
    }

    message result;
    const std::string role_name = reader.required_text("role");
    const std::optional<role> known = role_from_string(role_name);
    if (!known) {
        reader.fail("role", "is not an AG-UI role");
    }
    result.role = known.value_or(role::user);
    result.id = reader.text("id").value_or(std::string());
    result.name = reader.text("name");
    result.encrypted_value = reader.text("encryptedValue");
    result.encrypted_value_type = reader.text("encryptedValueType");
    result.subagent_run_id = reader.text("subagentRunId").value_or(std::string());
    if (const json::object* metadata = reader.object("metadata")) {
        result.metadata.emplace(*metadata, json::storage_ptr());
    }
    if (result.role == role::activity) {
        read_activity(result, reader);
    } else {
        result.content = read_content(reader.find("content"), reader, error);
    }
    if (result.role == role::assistant) {
        read_assistant(result, reader, error);
    } else if (result.role == role::tool) {
        read_tool(result, reader);
    }

    if (error) {
        return *std::move(error);
    }
    return result;
}

} // namespace agui::session
