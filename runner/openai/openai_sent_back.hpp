#pragma once

#include "runner/openai/openai_chat.hpp"
#include "session/conversation/message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

// Data that came with a model server's answers and that it wants sent back with them.

/// True if an answer after a user turn's first call has no `reasoning_content` to be sent back.
[[nodiscard]] bool
lacks_reasoning(const std::vector<const session::message*>& messages, const model_request& asked);

/// Appends the members to be sent back with an answer. `reasoning` is the text of its thoughts. It
/// is sent if `with_reasoning` is true and the server has no reasoning blocks of its own.
void append_sent_back(
    std::string& out, const session::turn_origin& origin, std::string_view reasoning,
    bool with_reasoning
);

/// Appends the content of an answer whose reasoning was inside the content, in parts (Mistral) or
/// between tags. Returns false, and appends nothing, for any other answer.
[[nodiscard]] bool append_thoughts_in_content(
    std::string& out, const session::turn_origin& origin, const std::string& reasoning,
    const std::string& text
);

/// Appends the members to be sent back with a call of the answer; returns false if there are none.
[[nodiscard]] bool append_sent_back(
    std::string& out, const session::turn_origin& origin, const session::tool_call& call
);

} // namespace agui::runner
