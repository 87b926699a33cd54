#include "translator/agui/said_messages.hpp"

#include "session/base/json_member.hpp"
#include "translator/agui/event_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace agui::translator {

namespace {

void append(session::content& to, std::string_view text) { std::get<std::string>(to).append(text); }

} // namespace

void said_messages::read(const boost::json::object& event) {
    const std::string_view type = string_in(event, "type");
    const std::string_view delta = string_in(event, "delta");
    if (type == "TEXT_MESSAGE_CONTENT") {
        append(message_of(event, "messageId", session::role::assistant).content, delta);
    } else if (type == "REASONING_MESSAGE_CONTENT") {
        append(message_of(event, "messageId", session::role::reasoning).content, delta);
    } else if (type == "TOOL_CALL_START") {
        begin_call(event);
    } else if (type == "TOOL_CALL_ARGS") {
        if (session::tool_call* call = find_call(string_in(event, "toolCallId"))) {
            call->arguments.append(delta);
        }
    }
}

void said_messages::begin_call(const boost::json::object& event) {
    const std::string_view id = string_in(event, "toolCallId");
    if (find_call(id) != nullptr) {
        return; // A log from an earlier version may start a call twice.
    }
    session::tool_call call;
    call.id = id;
    call.name = string_in(event, "toolCallName");
    message_of(event, "parentMessageId", session::role::assistant)
        .tool_calls.push_back(std::move(call));
}

session::message& said_messages::message_of(
    const boost::json::object& event, std::string_view id_key, session::role role
) {
    const std::string_view id = string_in(event, id_key);
    const auto found = std::ranges::find(messages_, id, &session::message::id);
    if (found != messages_.end()) {
        return *found;
    }
    session::message begun;
    begun.id = id;
    begun.role = role;
    begun.content = std::string();
    begun.subagent_run_id = string_in(event, "subagentRunId");
    return messages_.emplace_back(std::move(begun));
}

session::tool_call* said_messages::find_call(std::string_view id) {
    for (session::message& one : messages_) {
        const auto found = std::ranges::find(one.tool_calls, id, &session::tool_call::id);
        if (found != one.tool_calls.end()) {
            return &*found;
        }
    }
    return nullptr;
}

} // namespace agui::translator
