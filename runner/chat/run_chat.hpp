#pragma once

#include "runner/chat/chat_loop_with_tools.hpp"

#include <string>
#include <vector>

namespace agui::runner {

/// Runs chat_loop_with_tools() for a program without an event loop: blocks until the chat has
/// ended. Everything runs on the caller's thread, including tools. A tool that is still waiting at
/// the end is destroyed.
[[nodiscard]] chat_result run_chat(
    owned_model model, std::vector<session::message> messages, std::vector<server_tool> tools = {},
    chat_with_tools config = {}
);
/// The same for one question.
[[nodiscard]] chat_result run_chat(
    owned_model model, std::string question, std::vector<server_tool> tools = {},
    chat_with_tools config = {}
);

} // namespace agui::runner
