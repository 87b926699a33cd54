#include "translator/input/input_messages.hpp"

#include "runner/base/json_escapes.hpp"
#include "session/conversation/message_json.hpp"
#include "translator/input/input_fields.hpp"
#include "translator/input/input_parts.hpp"

#include <optional>
#include <utility>

namespace agui::translator {
namespace {

using boost::json::object;
using boost::json::value;
using session::role;

/// Checks that the content is of a kind that the role may have. Stored messages are sent out again
/// in snapshots, and a client discards a whole run for one malformed message.
result<void> check_content(role who, const object& message, std::string_view path) {
    const value* content = find_member(message, "content");
    const std::string where = joined(path, "content");
    if (content == nullptr) {
        return {}; // JSON.stringify drops undefined content, so the message is empty.
    }
    switch (who) {
    case role::user:
    case role::tool:
        if (!content->is_string() && !content->is_array()) {
            return invalid_input(where, "must be a string or an array of parts");
        }
        return {};
    case role::activity:
        return content->is_object() ? result<void>() : invalid_input(where, "must be an object");
    case role::developer:
    case role::system:
    case role::assistant:
    case role::reasoning:
        return content->is_string() ? result<void>() : invalid_input(where, "must be a string");
    }
    return {};
}

result<void>
check_ids(const session::message& message, std::string_view path, const input_limits& limits) {
    const std::pair<std::string_view, const std::string&> ids[] = {
        {"id", message.id},
        {"toolCallId", message.tool_call_id},
        {"subagentRunId", message.subagent_run_id},
    };
    for (const auto& [key, id] : ids) {
        if (auto sound = check_id(id, joined(path, key), limits.max_id_bytes); !sound) {
            return sound;
        }
    }
    for (std::size_t index = 0; index < message.tool_calls.size(); ++index) {
        const std::string where = joined(path, indexed("toolCalls", index)) + ".id";
        const std::string& id = message.tool_calls[index].id;
        if (id.empty()) {
            return invalid_input(where, "must not be empty");
        }
        if (auto sound = check_id(id, where, limits.max_id_bytes); !sound) {
            return sound;
        }
    }
    return {};
}

/// Limits the numbers of parts and calls of a message.
result<void>
check_counts(const object& message, std::string_view path, const input_limits& limits) {
    const std::pair<std::string_view, std::size_t> bounds[] = {
        {"content", limits.max_parts_per_message}, {"toolCalls", limits.max_calls_per_message}
    };
    for (const auto& [key, bound] : bounds) {
        const value* list = find_member(message, key);
        if (list != nullptr && list->is_array() && list->get_array().size() > bound) {
            return invalid_input(
                joined(path, key), "must not have more than " + std::to_string(bound) + " elements"
            );
        }
    }
    return {};
}

/// Removes members that the protocol does not allow in such a message, and halves of characters
/// from the arguments of its calls, which are JSON texts.
void tidy(session::message& message) {
    if (message.role == role::reasoning || message.role == role::activity) {
        message.name.reset();
    }
    if (!message.encrypted_value) {
        message.encrypted_value_type.reset(); // It must not be present without its value (S1).
    }
    for (session::tool_call& call : message.tool_calls) {
        // The answers of models are treated the same way, so that both are equal.
        runner::replace_unpaired_surrogates(call.arguments);
        if (!call.encrypted_value) {
            call.encrypted_value_type.reset();
        }
    }
}

/// nullopt for an unknown role, whose message is dropped.
result<std::optional<role>> read_role(const object& message, std::string_view path) {
    const auto name = read_required_text(message, "role", path);
    if (!name) {
        return name.error();
    }
    return session::role_from_string(*name);
}

} // namespace

result<std::optional<session::message>> read_message(
    const value& given, const std::string& path, const input_limits& limits,
    std::vector<std::string>& notes
) {
    const auto fields = read_object(given, path);
    if (!fields) {
        return fields.error();
    }
    const auto who = read_role(**fields, path);
    if (!who) {
        return who.error();
    }
    if (!*who) {
        add_note(notes, path, "unknown role, dropped");
        return std::optional<session::message>();
    }
    if (auto sound = check_content(**who, **fields, path); !sound) {
        return sound.error();
    }
    if (auto sound = check_counts(**fields, path, limits); !sound) {
        return sound.error();
    }
    if (**who == role::activity) {
        const auto type = read_required_text(**fields, "activityType", path);
        if (!type) {
            return type.error();
        }
        if (type->empty()) {
            return invalid_input(joined(path, "activityType"), "must not be empty");
        }
    }
    auto message = session::message_from_json(given);
    if (!message) {
        failure error = message.error();
        // The detail begins with the path if there is one.
        error.detail = error.path.empty() ? path + ": " + error.detail : joined(path, error.detail);
        error.path = error.path.empty() ? path : joined(path, error.path);
        return error;
    }
    if (const auto* parts = std::get_if<boost::json::array>(&message->content)) {
        auto read = read_parts(*parts, joined(path, "content"), notes);
        if (!read) {
            return read.error();
        }
        message->content = std::move(*read);
    }
    tidy(*message);
    if (auto sound = check_ids(*message, path, limits); !sound) {
        return sound.error();
    }
    return std::optional<session::message>(std::move(*message));
}

result<std::vector<session::message>>
read_messages(const value& given, const input_limits& limits, std::vector<std::string>& notes) {
    const auto array = read_array(given, "messages");
    if (!array) {
        return array.error();
    }
    if ((*array)->size() > limits.max_messages) {
        return invalid_input(
            "messages",
            "must not have more than " + std::to_string(limits.max_messages) + " elements"
        );
    }
    std::vector<session::message> out;
    out.reserve((*array)->size());
    for (std::size_t index = 0; index < (*array)->size(); ++index) {
        auto message = read_message((**array)[index], indexed("messages", index), limits, notes);
        if (!message) {
            return message.error();
        }
        if (*message) {
            out.push_back(std::move(**message));
        }
    }
    return out;
}

} // namespace agui::translator
