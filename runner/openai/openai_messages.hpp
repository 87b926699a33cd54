#pragma once

#include "runner/openai/openai_chat.hpp"

#include <string>

namespace agui::runner {

/// The server would refuse the messages of this request if it were to think about them.
[[nodiscard]] bool
needs_thinking_off(const model_request& request, const openai_settings& settings);

/// Appends the value of the member `messages`.
void append_messages(
    std::string& out, const model_request& request, const openai_settings& settings
);

} // namespace agui::runner
