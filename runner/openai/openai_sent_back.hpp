#pragma once

#include "runner/openai/openai_chat.hpp"
#include "session/conversation/message.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

// What a model server wants to get back with its own answers: the data that came with them.

/// Null if the answer is not from this provider and model, or nothing was noted about it. Lives as
/// long as the message.
[[nodiscard]] const session::turn_origin*
own_origin(const session::message& value, const model_request& asked) noexcept;

/// True if an answer after a user turn's first call has no `reasoning_content` to be sent back.
[[nodiscard]] bool
lacks_reasoning(const std::vector<const session::message*>& messages, const model_request& asked);

/// Appends the members that go back with an answer. `reasoning` is the text of its thoughts; it is
/// sent if `with_reasoning`, where the server has no blocks of its own for it.
void append_sent_back(
    std::string& out, const session::turn_origin& origin, std::string_view reasoning,
    bool with_reasoning
);

/// Appends the content of an answer that had its reasoning inside the content, as Mistral's parts
/// or between tags. False: it had none there, and nothing was appended.
[[nodiscard]] bool append_thoughts_in_content(
    std::string& out, const session::turn_origin& origin, const std::string& reasoning,
    const std::string& text
);

/// Appends the members that go back with a call of the answer; false if there are none.
[[nodiscard]] bool append_sent_back(
    std::string& out, const session::turn_origin& origin, const session::tool_call& call
);

} // namespace agui::runner
