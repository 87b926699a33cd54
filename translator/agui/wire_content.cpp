#include "translator/agui/wire_content.hpp"

#include "session/base/json_member.hpp"
#include "session/conversation/message_json.hpp"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace agui::translator {
namespace {

constexpr std::string_view type_of_encryption = "encryptedValueType";

bool has_file_source(const boost::json::value& part) {
    const auto* object = part.if_object();
    const auto* source = object != nullptr ? object->if_contains("source") : nullptr;
    const auto* fields = source != nullptr ? source->if_object() : nullptr;
    const auto* type = fields != nullptr ? fields->if_contains("type") : nullptr;
    return type != nullptr && type->is_string() && type->get_string() == "file";
}

boost::json::array legacy_parts(const boost::json::array& parts) {
    boost::json::array kept;
    for (const boost::json::value& part : parts) {
        if (has_file_source(part)) {
            continue;
        }
        kept.push_back(part);
        if (auto* object = kept.back().if_object()) {
            object->stable_erase("id");
        }
    }
    return kept;
}

void drop_encryption_type(boost::json::object& message) {
    message.stable_erase(type_of_encryption);
    boost::json::value* calls = message.if_contains("toolCalls");
    if (calls == nullptr || !calls->is_array()) {
        return;
    }
    for (boost::json::value& call : calls->get_array()) {
        if (auto* object = call.if_object()) {
            object->stable_erase(type_of_encryption);
        }
    }
}

boost::json::object
wire_message(const session::message& message, projection form, const part_link& link) {
    boost::json::object json = session::to_json(message);
    if (message.role == session::role::activity) {
        json["content"] = wire_activity(message, link);
    }
    if (message.role == session::role::tool) {
        json.stable_erase("name"); // For the store only: the protocol's tool message has none.
    }
    if (form == projection::v1_1) {
        return json;
    }
    drop_encryption_type(json);
    const auto* parts = std::get_if<boost::json::array>(&message.content);
    const bool has_parts = parts != nullptr && message.role != session::role::activity;
    if (form == projection::undeclared && has_parts && json.contains("content")) {
        if (message.role == session::role::tool) {
            json["content"] = session::text_of(message.content);
        } else {
            json["content"] = legacy_parts(*parts);
        }
    }
    return json;
}

bool is_text(const boost::json::value& part) {
    const auto* object = part.if_object();
    const auto* type = object != nullptr ? object->if_contains("type") : nullptr;
    return type != nullptr && type->is_string() && type->get_string() == "text";
}

} // namespace

bool is_whole_undeclared(const session::content& content, session::role role) {
    const auto* parts = std::get_if<boost::json::array>(&content);
    return parts == nullptr || std::ranges::all_of(*parts, [role](const boost::json::value& part) {
               return role == session::role::tool ? is_text(part) : !has_file_source(part);
           });
}

boost::json::object wire_activity(const session::message& activity, const part_link& link) {
    boost::json::object content = activity.activity;
    if (link && !session::is_empty(activity.content)) {
        std::string url = link(string_in(content, "sha256"));
        if (!url.empty()) {
            content["url"] = std::move(url);
        }
    }
    return content;
}

boost::json::array wire_messages(
    const std::vector<session::message>& messages, projection form, const part_link& link
) {
    boost::json::array out;
    out.reserve(messages.size());
    for (const session::message& message : messages) {
        out.emplace_back(wire_message(message, form, link));
    }
    return out;
}

} // namespace agui::translator
