#pragma once

#include <array>
#include <span>
#include <string_view>

// The shapes of AG-UI 1.1 as data. Internal to verifier_schema.cpp.
namespace agui::translator::tables {

enum class member_kind {
    text,    ///< A string.
    id,      ///< A string, not empty.
    delta,   ///< A string, not empty.
    literal, ///< One of `allowed`, separated by '|'.
    integer, ///< Within ±(2^53-1).
    count,   ///< The same, not negative.
    boolean,
    object,
    any,   ///< Also null.
    value, ///< Anything but null.
    texts, ///< An array of strings.
    parts_or_text,
    messages,
    calls,    ///< The toolCalls of a message.
    function, ///< The function of a tool call.
    source,
    patch,
    usage,
    outcome,
    suspension, ///< Outcome of SUBAGENT_FINISHED.
    interrupts,
    input,
    tools,
    context,
    resume,
};

struct member_rule {
    std::string_view name;
    member_kind kind;
    bool required = false;
    std::string_view allowed = {};
};

using member_rules = std::span<const member_rule>;

struct shape {
    std::string_view type; ///< The discriminator's value.
    member_rules members;
};

using enum member_kind;
inline constexpr bool required = true;

// ---- Events -------------------------------------------------------------------------------------

inline constexpr member_rule base_members[] = {
    {"type", text, required},
    {"timestamp", integer},
    {"rawEvent", value},
    {"metadata", object},
};
inline constexpr member_rule attribution[] = {{"subagentRunId", id}};

inline constexpr member_rule run_started[] = {
    {"threadId", id, required}, {"runId", id, required}, {"protocolVersion", text},
    {"parentRunId", id},        {"input", input},
};
inline constexpr member_rule run_finished[] = {
    {"threadId", id, required}, {"runId", id, required}, {"result", value},
    {"outcome", outcome},       {"usage", usage},
};
inline constexpr member_rule run_error[] = {
    {"message", text, required}, {"code", text}, {"usage", usage}
};
inline constexpr member_rule step[] = {{"stepName", text, required}};
inline constexpr std::string_view text_roles = "developer|system|assistant|user";
inline constexpr member_rule text_start[] = {
    {"messageId", id, required}, {"role", literal, false, text_roles}, {"name", text}
};
inline constexpr member_rule message_content[] = {
    {"messageId", id, required}, {"delta", delta, required}
};
inline constexpr member_rule message_end[] = {{"messageId", id, required}};
inline constexpr member_rule text_chunk[] = {
    {"messageId", id}, {"role", literal, false, text_roles}, {"delta", delta}, {"name", text}
};
inline constexpr member_rule call_start[] = {
    {"toolCallId", id, required}, {"toolCallName", id, required}, {"parentMessageId", id}
};
inline constexpr member_rule call_args[] = {
    {"toolCallId", id, required}, {"delta", delta, required}
};
inline constexpr member_rule call_end[] = {{"toolCallId", id, required}};
inline constexpr member_rule call_chunk[] = {
    {"toolCallId", id}, {"toolCallName", id}, {"parentMessageId", id}, {"delta", delta}
};
inline constexpr member_rule call_result_members[] = {
    {"messageId", id, required},
    {"toolCallId", id, required},
    {"content", parts_or_text, required},
    {"role", literal, false, "tool"},
};
inline constexpr member_rule state_snapshot[] = {{"snapshot", any, required}};
inline constexpr member_rule state_delta[] = {{"delta", patch, required}};
inline constexpr member_rule messages_snapshot_members[] = {{"messages", messages, required}};
inline constexpr member_rule activity_snapshot[] = {
    {"messageId", id, required},
    {"activityType", id, required},
    {"content", object, required},
    {"replace", boolean}
};
inline constexpr member_rule activity_delta[] = {
    {"messageId", id, required}, {"activityType", id, required}, {"patch", patch, required}
};
inline constexpr member_rule reasoning_start[] = {
    {"messageId", id, required}, {"role", literal, required, "reasoning"}
};
inline constexpr member_rule reasoning_chunk[] = {{"messageId", id}, {"delta", delta}};
inline constexpr member_rule encrypted_value[] = {
    {"subtype", literal, required, "message|tool-call"},
    {"entityId", id, required},
    {"encryptedValue", text, required},
    {"encryptedValueType", text},
};
inline constexpr member_rule subagent_started[] = {
    {"subagentRunId", id, required}, {"name", id, required},   {"description", text},
    {"parentSubagentRunId", id},     {"parentToolCallId", id}, {"parentMessageId", id}
};
inline constexpr member_rule subagent_finished[] = {
    {"subagentRunId", id, required}, {"result", value}, {"outcome", suspension}
};
inline constexpr member_rule subagent_error[] = {
    {"subagentRunId", id, required}, {"message", text, required}, {"code", text}
};
inline constexpr member_rule raw_event[] = {{"event", any, required}, {"source", text}};
inline constexpr member_rule custom[] = {{"name", id, required}, {"value", any, required}};

inline constexpr shape event_shapes[] = {
    {"RUN_STARTED", run_started},
    {"RUN_FINISHED", run_finished},
    {"RUN_ERROR", run_error},
    {"STEP_STARTED", step},
    {"STEP_FINISHED", step},
    {"TEXT_MESSAGE_START", text_start},
    {"TEXT_MESSAGE_CONTENT", message_content},
    {"TEXT_MESSAGE_END", message_end},
    {"TEXT_MESSAGE_CHUNK", text_chunk},
    {"TOOL_CALL_START", call_start},
    {"TOOL_CALL_ARGS", call_args},
    {"TOOL_CALL_END", call_end},
    {"TOOL_CALL_CHUNK", call_chunk},
    {"TOOL_CALL_RESULT", call_result_members},
    {"STATE_SNAPSHOT", state_snapshot},
    {"STATE_DELTA", state_delta},
    {"MESSAGES_SNAPSHOT", messages_snapshot_members},
    {"ACTIVITY_SNAPSHOT", activity_snapshot},
    {"ACTIVITY_DELTA", activity_delta},
    {"REASONING_START", message_end},
    {"REASONING_END", message_end},
    {"REASONING_MESSAGE_START", reasoning_start},
    {"REASONING_MESSAGE_CONTENT", message_content},
    {"REASONING_MESSAGE_END", message_end},
    {"REASONING_MESSAGE_CHUNK", reasoning_chunk},
    {"REASONING_ENCRYPTED_VALUE", encrypted_value},
    {"SUBAGENT_STARTED", subagent_started},
    {"SUBAGENT_FINISHED", subagent_finished},
    {"SUBAGENT_ERROR", subagent_error},
    {"RAW", raw_event},
    {"CUSTOM", custom},
};

/// Events of the run as a whole belong to no agent.
inline constexpr std::array<std::string_view, 4> unattributed{
    "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"
};

// ---- Messages -----------------------------------------------------------------------------------

inline constexpr member_rule message_base[] = {
    {"id", id, required}, {"role", text, required}, {"metadata", object}, {"subagentRunId", id}
};
inline constexpr member_rule encryption[] = {
    {"encryptedValue", text}, {"encryptedValueType", text}
};

inline constexpr member_rule system_message[] = {{"content", text, required}, {"name", text}};
inline constexpr member_rule user_message[] = {
    {"content", parts_or_text, required}, {"name", text}
};
inline constexpr member_rule assistant_message[] = {
    {"content", text}, {"toolCalls", calls}, {"name", text}
};
inline constexpr member_rule tool_message[] = {
    {"toolCallId", id, required}, {"content", parts_or_text, required}, {"error", text}
};
inline constexpr member_rule activity_message[] = {
    {"activityType", id, required}, {"content", object, required}
};
inline constexpr member_rule reasoning_message[] = {{"content", text, required}};

inline constexpr shape message_shapes[] = {
    {"developer", system_message},    {"system", system_message}, {"user", user_message},
    {"assistant", assistant_message}, {"tool", tool_message},     {"activity", activity_message},
    {"reasoning", reasoning_message},
};

inline constexpr member_rule call_members[] = {
    {"id", id, required},
    {"type", literal, required, "function"},
    {"function", function, required},
    {"metadata", object}
};
inline constexpr member_rule function_members[] = {
    {"name", text, required}, {"arguments", text, required}
};

inline constexpr member_rule part_base[] = {{"type", text, required}, {"id", text}};
inline constexpr member_rule text_part[] = {{"text", text, required}, {"metadata", value}};
inline constexpr member_rule media_part[] = {{"source", source, required}, {"metadata", value}};
inline constexpr shape part_shapes[] = {
    {"text", text_part},   {"image", media_part},    {"audio", media_part},
    {"video", media_part}, {"document", media_part},
};

inline constexpr member_rule source_base[] = {{"type", text, required}};
inline constexpr member_rule data_source[] = {
    {"value", text, required}, {"mimeType", text, required}
};
inline constexpr member_rule url_source[] = {{"value", text, required}, {"mimeType", text}};
inline constexpr member_rule file_source[] = {
    {"value", text, required}, {"provider", text}, {"mimeType", text}
};
inline constexpr shape source_shapes[] = {
    {"data", data_source}, {"url", url_source}, {"file", file_source}
};

// ---- Outcomes, usage, patches, input ------------------------------------------------------------

inline constexpr member_rule outcome_base[] = {{"type", text, required}};
inline constexpr member_rule success[] = {{"pendingToolCallIds", texts}};
inline constexpr member_rule interrupted[] = {{"interrupts", interrupts, required}};
inline constexpr shape outcome_shapes[] = {
    {"success", success}, {"interrupt", interrupted}, {"cancelled", {}}
};
inline constexpr member_rule suspended[] = {{"interruptIds", texts}};
inline constexpr shape suspension_shapes[] = {{"success", {}}, {"suspended", suspended}};

inline constexpr member_rule interrupt_members[] = {
    {"id", id, required}, {"reason", id, required},   {"message", text},
    {"toolCallId", id},   {"responseSchema", object}, {"expiresAt", text},
    {"metadata", object}, {"subagentRunId", id}
};

inline constexpr member_rule usage_members[] = {
    {"provider", text},           {"model", text},
    {"inputTokens", count},       {"outputTokens", count},
    {"totalTokens", count},       {"reasoningTokens", count},
    {"cachedInputTokens", count}, {"cacheWriteInputTokens", count}
};

inline constexpr member_rule with_value[] = {{"path", text, required}, {"value", any, required}};
inline constexpr member_rule with_path[] = {{"path", text, required}};
inline constexpr member_rule with_from[] = {{"path", text, required}, {"from", text, required}};
inline constexpr shape patch_shapes[] = {{"add", with_value},  {"replace", with_value},
                                         {"test", with_value}, {"remove", with_path},
                                         {"move", with_from},  {"copy", with_from}};

inline constexpr member_rule input_members[] = {
    {"threadId", id, required}, {"runId", id, required}, {"protocolVersion", text},
    {"parentRunId", id},        {"state", value},        {"messages", messages, required},
    {"tools", tools},           {"context", context},    {"forwardedProps", value},
    {"resume", resume}
};
inline constexpr member_rule tool_members[] = {
    {"name", text, required},
    {"description", text, required},
    {"parameters", value},
    {"metadata", object}
};
inline constexpr member_rule context_members[] = {
    {"description", text, required}, {"value", text, required}
};
inline constexpr member_rule resume_members[] = {
    {"interruptId", text, required},
    {"status", literal, required, "resolved|cancelled"},
    {"payload", value},
    {"metadata", object}
};

} // namespace agui::translator::tables
