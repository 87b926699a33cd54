#pragma once

#include "session/base/text_map.hpp"
#include "session/conversation/thread.hpp"

#include <string>
#include <vector>

namespace agui::session {

/// The statuses of a thread's calls, by call id.
using call_statuses = text_map<call_status>;
[[nodiscard]] call_statuses statuses_of(const thread_record& thread);

/// The part of a branch that concerns a model. A value without ties to the thread: code that
/// shortens or edits `messages` leaves `calls` alone.
struct history_selection {
    std::vector<message> messages; ///< In order, as stored.
    call_statuses calls;           ///< Calls of the whole thread: one may be answered elsewhere.
};

/// The messages of the branch that ends in `tip` without activity, messages of subagents, answers
/// that a model server withdrew, and reasoning; reasoning that an answer's origin names is kept,
/// because its provider may want it back. Content that a model server refused is left out
/// (refused_turns.hpp). Records of the prompt hold only what is told (prompt_fold.hpp). Pure.
[[nodiscard]] history_selection select_history(const thread_record& thread, node_index tip);

} // namespace agui::session
