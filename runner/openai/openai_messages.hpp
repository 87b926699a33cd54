#pragma once

#include "runner/base/tool_names.hpp"
#include "runner/openai/openai_chat.hpp"

#include <string>

namespace agui::runner {

/// True if the server would refuse the messages of this request in its thinking mode.
[[nodiscard]] bool
needs_thinking_off(const model_request& request, const openai_settings& settings);

/// Appends the value of the member `messages`. `names` must be made of the request's tools.
void append_messages(
    std::string& out, const model_request& request, const openai_settings& settings,
    const tool_names& names
);

} // namespace agui::runner
