#pragma once

#include <span>
#include <string_view>

// The types of AG-UI 1.1 as data: their members as the specification's schema.json has them, and
// the numbers of their protobuf fields as its proto-freeze.txt publishes them.
namespace agui::translator::tables {

struct object_type;

/// The value of a member and, after a semicolon, its protobuf field.
enum class member_kind {
    text,       ///< A string.
    id,         ///< A string, not empty.
    delta,      ///< A string, not empty.
    literal,    ///< One of `allowed`, separated by '|'.
    pointer,    ///< A JSON pointer.
    enumerated, ///< The name of the object's shape; an enumeration.
    integer,    ///< Within ±(2^53-1).
    count,      ///< The same, not negative.
    boolean,
    object,   ///< An object; a Struct.
    document, ///< An object; a Value.
    any,      ///< Also null; a Value.
    value,    ///< Anything but null; a Value.
    texts,    ///< An array of strings.
    nested,   ///< An object of `type`.
    merged,   ///< The same; its members are fields of the enclosing message.
    list,     ///< An array of `type`.
    filled_list,
    text_or_list, ///< A string, or an array of `type`; the array has the field `list_number`.
};

/// Whether an object must have the member. If the text of a `required` one is empty, it has no
/// field (proto3's implicit presence); that of a `shown` one always has.
enum class member_presence { optional, required, shown };

struct member_rule {
    std::string_view name;
    member_kind kind;
    /// The protobuf field. 0 if it has none of its own: a merged member, or the name of an arm.
    unsigned number;
    member_presence presence = member_presence::optional;
    unsigned list_number = 0;
    const object_type* type = nullptr;
    std::string_view allowed = {};

    [[nodiscard]] constexpr bool is_required() const noexcept {
        return presence != member_presence::optional;
    }
};

using member_rules = std::span<const member_rule>;

/// One of several forms of an object.
struct shape {
    std::string_view name;
    member_rules members;
    unsigned number = 0; ///< Its enumerator or its arm of the oneof; 0 if it is named by a text.
};

/// Objects have these members and those of one shape, which the member `key` names.
struct object_type {
    member_rules members;
    std::string_view key = {}; ///< Empty if there are no shapes.
    std::span<const shape> shapes = {};
    bool is_open = false; ///< Other members are allowed.
};

/// The element of that name, or null.
template <class Named>
[[nodiscard]] constexpr const Named*
find_named(std::span<const Named> list, std::string_view name) noexcept {
    for (const Named& one : list) {
        if (one.name == name) {
            return &one;
        }
    }
    return nullptr;
}

using enum member_kind;
using enum member_presence;

// ---- Messages -----------------------------------------------------------------------------------

inline constexpr member_rule kind_of_arm[] = {{"type", text, 0, required}};

inline constexpr member_rule data_source[] = {
    {"value", text, 1, required}, {"mimeType", text, 2, required}
};
inline constexpr member_rule url_source[] = {{"value", text, 1, required}, {"mimeType", text, 2}};
inline constexpr member_rule file_source[] = {
    {"value", text, 1, required}, {"mimeType", text, 3}, {"provider", text, 2}
};
inline constexpr shape source_shapes[] = {
    {"data", data_source, 1}, {"url", url_source, 2}, {"file", file_source, 3}
};
inline constexpr object_type source_type{kind_of_arm, "type", source_shapes};

inline constexpr member_rule text_part[] = {
    {"text", text, 1, required}, {"id", text, 2}, {"metadata", value, 3}
};
inline constexpr member_rule media_part[] = {
    {"source", nested, 1, required, 0, &source_type}, {"id", text, 3}, {"metadata", value, 2}
};
inline constexpr shape part_shapes[] = {
    {"text", text_part, 1},   {"image", media_part, 2},    {"audio", media_part, 3},
    {"video", media_part, 4}, {"document", media_part, 5},
};
inline constexpr object_type part_type{kind_of_arm, "type", part_shapes};

inline constexpr member_rule function_members[] = {
    {"name", text, 1, required}, {"arguments", text, 2, required}
};
inline constexpr object_type function_type{function_members};
inline constexpr member_rule call_members[] = {
    {"id", id, 1, required},
    {"type", literal, 2, required, 0, nullptr, "function"},
    {"function", nested, 3, required, 0, &function_type},
    {"metadata", object, 4},
    {"encryptedValue", text, 5},
    {"encryptedValueType", text, 6},
};
inline constexpr object_type call_type{call_members};

inline constexpr member_rule message_base[] = {
    {"id", id, 1, required},   {"role", text, 2, required},  {"metadata", object, 9},
    {"subagentRunId", id, 10}, {"encryptedValue", text, 11}, {"encryptedValueType", text, 14},
};
inline constexpr member_rule system_message[] = {{"content", text, 3, shown}, {"name", text, 4}};
inline constexpr member_rule user_message[] = {
    {"content", text_or_list, 3, shown, 8, &part_type}, {"name", text, 4}
};
inline constexpr member_rule assistant_message[] = {
    {"content", text, 3}, {"toolCalls", list, 5, optional, 0, &call_type}, {"name", text, 4}
};
inline constexpr member_rule tool_message[] = {
    {"toolCallId", id, 6, required},
    {"content", text_or_list, 3, shown, 8, &part_type},
    {"error", text, 7},
};
inline constexpr member_rule activity_message[] = {
    {"activityType", id, 12, required}, {"content", object, 13, required}
};
inline constexpr member_rule reasoning_message[] = {{"content", text, 3, shown}};
inline constexpr shape message_shapes[] = {
    {"developer", system_message},    {"system", system_message}, {"user", user_message},
    {"assistant", assistant_message}, {"tool", tool_message},     {"activity", activity_message},
    {"reasoning", reasoning_message},
};
inline constexpr object_type message_type{message_base, "role", message_shapes};

// ---- Patches, outcomes, usage, input ------------------------------------------------------------

inline constexpr member_rule operation_base[] = {
    {"op", enumerated, 1, required}, {"path", pointer, 2, required}
};
inline constexpr member_rule with_value[] = {{"value", any, 4, required}};
inline constexpr member_rule with_from[] = {{"from", pointer, 3, shown}};
inline constexpr shape operation_shapes[] = {
    {"add", with_value, 0}, {"remove", {}, 1},      {"replace", with_value, 2},
    {"move", with_from, 3}, {"copy", with_from, 4}, {"test", with_value, 5},
};
// The only objects in which the protocol allows further members.
inline constexpr object_type operation_type{operation_base, "op", operation_shapes, true};

inline constexpr member_rule interrupt_members[] = {
    {"id", id, 1, required},   {"reason", id, 2, required},     {"message", text, 3},
    {"toolCallId", id, 4},     {"responseSchema", document, 5}, {"expiresAt", text, 6},
    {"metadata", document, 7}, {"subagentRunId", id, 8},
};
inline constexpr object_type interrupt_type{interrupt_members};
inline constexpr member_rule outcome_base[] = {{"type", text, 5, required}};
inline constexpr member_rule success[] = {{"pendingToolCallIds", texts, 8}};
inline constexpr member_rule interrupted[] = {
    {"interrupts", filled_list, 6, required, 0, &interrupt_type}
};
inline constexpr shape outcome_shapes[] = {
    {"success", success}, {"interrupt", interrupted}, {"cancelled", {}}
};
inline constexpr object_type outcome_type{outcome_base, "type", outcome_shapes};

inline constexpr member_rule suspension_base[] = {{"type", text, 4, required}};
inline constexpr member_rule suspended[] = {{"interruptIds", texts, 5}};
inline constexpr shape suspension_shapes[] = {{"success", {}}, {"suspended", suspended}};
inline constexpr object_type suspension_type{suspension_base, "type", suspension_shapes};

inline constexpr member_rule usage_members[] = {
    {"provider", text, 1},           {"model", text, 2},
    {"inputTokens", count, 3},       {"outputTokens", count, 4},
    {"totalTokens", count, 5},       {"reasoningTokens", count, 6},
    {"cachedInputTokens", count, 7}, {"cacheWriteInputTokens", count, 8},
};
inline constexpr object_type usage_type{usage_members};

inline constexpr member_rule tool_members[] = {
    {"name", text, 1, required},
    {"description", text, 2, required},
    {"parameters", value, 3},
    {"metadata", object, 4},
};
inline constexpr object_type tool_type{tool_members};
inline constexpr member_rule context_members[] = {
    {"description", text, 1, required}, {"value", text, 2, required}
};
inline constexpr object_type context_type{context_members};
inline constexpr member_rule resume_members[] = {
    {"interruptId", text, 1, required},
    {"status", literal, 2, required, 0, nullptr, "resolved|cancelled"},
    {"payload", value, 3},
    {"metadata", object, 4},
};
inline constexpr object_type resume_type{resume_members};
inline constexpr member_rule input_members[] = {
    {"threadId", id, 1, required},
    {"runId", id, 2, required},
    {"protocolVersion", text, 10},
    {"parentRunId", id, 3},
    {"state", value, 4},
    {"messages", list, 5, required, 0, &message_type},
    {"tools", list, 6, optional, 0, &tool_type},
    {"context", list, 7, optional, 0, &context_type},
    {"forwardedProps", value, 8},
    {"resume", list, 9, optional, 0, &resume_type},
};
inline constexpr object_type input_type{input_members};

} // namespace agui::translator::tables
