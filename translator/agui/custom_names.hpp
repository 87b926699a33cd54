#pragma once

#include <string_view>

namespace agui::translator {

// The names of this server's own CUSTOM events. The protocol asks for a vendor prefix; logs stored
// by earlier versions have the names without it.
inline constexpr std::string_view custom_prefix = "agui-gateway.";
inline constexpr std::string_view custom_run_stopped = "agui-gateway.run.stopped";
inline constexpr std::string_view custom_tool_started = "agui-gateway.tool.started";
inline constexpr std::string_view custom_tool_failed = "agui-gateway.tool.failed";
inline constexpr std::string_view custom_message_taken = "agui-gateway.message.taken";
inline constexpr std::string_view custom_chat_segment = "agui-gateway.chat.segment";

/// Not this server's own: LangGraph's name, for which CopilotKit before 1.61.2 waits. The value is
/// the Interrupt object as a JSON text.
inline constexpr std::string_view custom_on_interrupt = "on_interrupt";

/// TanStack AI's name: its clients execute a call of the page only after this event.
inline constexpr std::string_view custom_tool_input = "tool-input-available";

/// Returns true if `name` is `ours`, with or without the prefix.
[[nodiscard]] constexpr bool is_custom(std::string_view name, std::string_view ours) noexcept {
    return name == ours || name == ours.substr(custom_prefix.size());
}

} // namespace agui::translator
