#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace agui::session {

/// A call that waits for its caller, with what the message that made it says of it.
struct pending_call {
    call_record call;
    std::string message_id; ///< Empty: the message is gone.
    std::optional<std::string> arguments;
};
/// Those of `calls` that wait for an answer, in order, with what their messages say of them.
/// `read(node)` gives a message, or null; it is asked once for all calls of a message that follow
/// each other.
template <class Read>
[[nodiscard]] std::vector<pending_call>
pending_calls_of(const std::vector<call_record>& calls, Read read) {
    std::vector<pending_call> pending;
    node_index last = no_node;
    const message* made_in = nullptr;
    std::unordered_map<std::string_view, const tool_call*> made;
    for (const call_record& call : calls) {
        if (call.status != call_status::pending) {
            continue;
        }
        if (call.made_in != last || last == no_node) {
            last = call.made_in;
            made.clear();
            made_in = last == no_node ? nullptr : read(last);
            for (std::size_t i = 0; made_in != nullptr && i < made_in->tool_calls.size(); ++i) {
                made[made_in->tool_calls[i].id] = &made_in->tool_calls[i];
            }
        }
        pending_call& described = pending.emplace_back(pending_call{call, {}, {}});
        if (made_in != nullptr) {
            described.message_id = made_in->id;
            if (const auto found = made.find(call.id); found != made.end()) {
                described.arguments = found->second->arguments;
            }
        }
    }
    return pending;
}

} // namespace agui::session
