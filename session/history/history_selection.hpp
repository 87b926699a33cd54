#pragma once

#include "session/base/text_map.hpp"
#include "session/conversation/thread.hpp"

#include <string>
#include <vector>

namespace agui::session {

/// What the thread's records say of its calls, by call id.
using call_statuses = text_map<call_status>;
[[nodiscard]] call_statuses statuses_of(const thread_record& thread);

/// The part of a branch that concerns a model. A value without ties to the thread: whatever
/// shortens or edits `messages` leaves `calls` alone.
struct history_selection {
    std::vector<message> messages; ///< In order, as stored.
    call_statuses calls;           ///< Of the whole thread: a call may be answered elsewhere.
};

/// The messages of the branch that ends in `tip` without activity, messages of subagents, and
/// reasoning; reasoning that an answer's origin names is kept, because its provider may want it
/// back. What a model server has refused is left out (refused_turns.hpp). Pure.
[[nodiscard]] history_selection select_history(const thread_record& thread, node_index tip);

} // namespace agui::session
