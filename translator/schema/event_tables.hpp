#pragma once

#include "translator/schema/type_tables.hpp"

#include <span>
#include <string_view>

// The events of AG-UI 1.1 as data, like the types.
namespace agui::translator::tables {

struct event_type {
    std::string_view name;
    unsigned arm;        ///< The field of the message Event.
    unsigned enumerator; ///< The value of EventType.
    /// The field of subagentRunId. 0 if the event belongs to no subagent, or if it is a member.
    unsigned subagent_number;
    member_rules members;
};

/// The members of every event, which protobuf has in a message of their own.
inline constexpr member_rule base_members[] = {
    {"type", enumerated, 1, required},
    {"timestamp", integer, 2},
    {"rawEvent", value, 3},
    {"metadata", object, 4},
};
inline constexpr unsigned base_number = 1; ///< The field of that message in each event.

inline constexpr member_rule run_started[] = {
    {"threadId", id, 2, required},
    {"runId", id, 3, required},
    {"protocolVersion", text, 6},
    {"parentRunId", id, 4},
    {"input", nested, 5, optional, 0, &input_type},
};
inline constexpr member_rule run_finished[] = {
    {"threadId", id, 2, required},
    {"runId", id, 3, required},
    {"result", value, 4},
    {"outcome", merged, 0, optional, 0, &outcome_type},
    {"usage", list, 7, optional, 0, &usage_type},
};
inline constexpr member_rule run_error[] = {
    {"message", text, 3, required}, {"code", text, 2}, {"usage", list, 4, optional, 0, &usage_type}
};
inline constexpr member_rule step[] = {{"stepName", text, 2, required}};
inline constexpr std::string_view text_roles = "developer|system|assistant|user";
inline constexpr member_rule text_start[] = {
    {"messageId", id, 2, required},
    {"role", literal, 3, optional, 0, nullptr, text_roles},
    {"name", text, 4},
};
inline constexpr member_rule text_content[] = {
    {"messageId", id, 2, required}, {"delta", delta, 3, required}
};
inline constexpr member_rule text_end[] = {{"messageId", id, 2, required}};
inline constexpr member_rule text_chunk[] = {
    {"messageId", id, 2},
    {"role", literal, 3, optional, 0, nullptr, text_roles},
    {"delta", delta, 4},
    {"name", text, 5},
};
inline constexpr member_rule call_start[] = {
    {"toolCallId", id, 2, required}, {"toolCallName", id, 3, required}, {"parentMessageId", id, 4}
};
inline constexpr member_rule call_args[] = {
    {"toolCallId", id, 2, required}, {"delta", delta, 3, required}
};
inline constexpr member_rule call_end[] = {{"toolCallId", id, 2, required}};
inline constexpr member_rule call_chunk[] = {
    {"toolCallId", id, 2}, {"toolCallName", id, 3}, {"parentMessageId", id, 4}, {"delta", delta, 5}
};
inline constexpr member_rule call_result_members[] = {
    {"messageId", id, 3, required},
    {"toolCallId", id, 4, required},
    {"content", text_or_list, 5, shown, 7, &part_type},
    {"role", literal, 6, optional, 0, nullptr, "tool"},
};
inline constexpr member_rule state_snapshot[] = {{"snapshot", any, 2, required}};
inline constexpr member_rule state_delta[] = {{"delta", list, 2, required, 0, &operation_type}};
inline constexpr member_rule messages_snapshot_members[] = {
    {"messages", list, 2, required, 0, &message_type}
};
inline constexpr member_rule activity_snapshot[] = {
    {"messageId", id, 3, required},
    {"activityType", id, 4, required},
    {"content", object, 5, required},
    {"replace", boolean, 6},
};
inline constexpr member_rule activity_delta[] = {
    {"messageId", id, 3, required},
    {"activityType", id, 4, required},
    {"patch", list, 5, required, 0, &operation_type},
};
inline constexpr member_rule reasoning_bracket[] = {{"messageId", id, 3, required}};
inline constexpr member_rule reasoning_start[] = {
    {"messageId", id, 3, required}, {"role", literal, 4, required, 0, nullptr, "reasoning"}
};
inline constexpr member_rule reasoning_content[] = {
    {"messageId", id, 3, required}, {"delta", delta, 4, required}
};
inline constexpr member_rule reasoning_chunk[] = {{"messageId", id, 3}, {"delta", delta, 4}};
inline constexpr member_rule encrypted_value[] = {
    {"subtype", literal, 3, required, 0, nullptr, "message|tool-call"},
    {"entityId", id, 4, required},
    {"encryptedValue", text, 5, required},
    {"encryptedValueType", text, 6},
};
inline constexpr member_rule subagent_started[] = {
    {"subagentRunId", id, 2, required}, {"name", id, 3, required},   {"description", text, 4},
    {"parentSubagentRunId", id, 5},     {"parentToolCallId", id, 6}, {"parentMessageId", id, 7},
};
inline constexpr member_rule subagent_finished[] = {
    {"subagentRunId", id, 2, required},
    {"result", value, 3},
    {"outcome", merged, 0, optional, 0, &suspension_type},
};
inline constexpr member_rule subagent_error[] = {
    {"subagentRunId", id, 2, required}, {"message", text, 3, required}, {"code", text, 4}
};
inline constexpr member_rule raw_event[] = {{"event", any, 2, required}, {"source", text, 3}};
inline constexpr member_rule custom[] = {{"name", id, 2, required}, {"value", any, 3, required}};

/// {name, arm, enumerator, field of subagentRunId, members}
inline constexpr event_type events[] = {
    {"RUN_STARTED", 12, 11, 0, run_started},
    {"RUN_FINISHED", 13, 12, 0, run_finished},
    {"RUN_ERROR", 14, 13, 0, run_error},
    {"STEP_STARTED", 15, 14, 3, step},
    {"STEP_FINISHED", 16, 15, 3, step},
    {"TEXT_MESSAGE_START", 1, 0, 5, text_start},
    {"TEXT_MESSAGE_CONTENT", 2, 1, 4, text_content},
    {"TEXT_MESSAGE_END", 3, 2, 3, text_end},
    {"TEXT_MESSAGE_CHUNK", 17, 19, 6, text_chunk},
    {"TOOL_CALL_START", 4, 3, 5, call_start},
    {"TOOL_CALL_ARGS", 5, 4, 4, call_args},
    {"TOOL_CALL_END", 6, 5, 3, call_end},
    {"TOOL_CALL_CHUNK", 18, 20, 6, call_chunk},
    {"TOOL_CALL_RESULT", 22, 21, 2, call_result_members},
    {"STATE_SNAPSHOT", 7, 6, 3, state_snapshot},
    {"STATE_DELTA", 8, 7, 3, state_delta},
    {"MESSAGES_SNAPSHOT", 9, 8, 0, messages_snapshot_members},
    {"ACTIVITY_SNAPSHOT", 23, 22, 2, activity_snapshot},
    {"ACTIVITY_DELTA", 24, 23, 2, activity_delta},
    {"REASONING_START", 25, 24, 2, reasoning_bracket},
    {"REASONING_END", 30, 29, 2, reasoning_bracket},
    {"REASONING_MESSAGE_START", 26, 25, 2, reasoning_start},
    {"REASONING_MESSAGE_CONTENT", 27, 26, 2, reasoning_content},
    {"REASONING_MESSAGE_END", 28, 27, 2, reasoning_bracket},
    {"REASONING_MESSAGE_CHUNK", 29, 28, 2, reasoning_chunk},
    {"REASONING_ENCRYPTED_VALUE", 31, 30, 2, encrypted_value},
    {"SUBAGENT_STARTED", 19, 16, 0, subagent_started},
    {"SUBAGENT_FINISHED", 20, 17, 0, subagent_finished},
    {"SUBAGENT_ERROR", 21, 18, 0, subagent_error},
    {"RAW", 10, 9, 4, raw_event},
    {"CUSTOM", 11, 10, 4, custom},
};

[[nodiscard]] constexpr const event_type* find_event(std::string_view name) noexcept {
    return find_named(std::span<const event_type>(events), name);
}

/// The rule for subagentRunId. Its number is 0 if the event has no such member beside its own.
[[nodiscard]] constexpr member_rule attribution(const event_type& event) noexcept {
    return {"subagentRunId", id, event.subagent_number};
}

} // namespace agui::translator::tables
