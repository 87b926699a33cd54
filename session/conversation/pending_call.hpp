#pragma once

#include "session/conversation/thread.hpp"

#include <optional>
#include <string>
#include <utility>

namespace agui::session {

/// A call that waits for its caller, with what the message that made it says of it.
struct pending_call {
    call_record call;
    std::string message_id; ///< Empty: the message is gone.
    std::optional<std::string> arguments;
};

[[nodiscard]] inline pending_call describe_pending(call_record call, const message& made_in) {
    pending_call pending{std::move(call), made_in.id, {}};
    for (const tool_call& made : made_in.tool_calls) {
        if (made.id == pending.call.id) {
            pending.arguments = made.arguments;
        }
    }
    return pending;
}

} // namespace agui::session
