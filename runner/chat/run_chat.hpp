#pragma once

#include "runner/chat/chat_loop_with_tools.hpp"

#include <string>
#include <vector>

namespace agui::runner {

/// chat_loop_with_tools() for a program without a loop of its own: blocks until the chat has ended.
/// Everything happens on the caller's thread, tools included. A tool that has not returned by then
/// ends with it: it is destroyed while it waits.
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
