#pragma once

#include "session/conversation/thread.hpp"

#include <vector>

namespace agui::session {

/// The conversation of the branch that ends in `tip`, fit for any model server (P5): each tool call
/// is answered once, right after the assistant message that holds it, in call order; calls that
/// have no stored answer get an explicit error result by their status; results without a call and
/// repeated results are left out; a call that is repeated in a later message is left out with its
/// result; messages of subagents, activity and reasoning are left out, except for the reasoning
/// that an answer's origin names, which comes right before that answer: its provider may want it
/// back; arguments are always a JSON object: empty ones `{}`, others `{"INVALID_JSON":"<the
/// text>"}`. Never an invented success.
///
/// Pure, and stable: a stored history that only grows yields output that only grows, byte for byte,
/// except for calls that were answered meanwhile.
[[nodiscard]] std::vector<message> model_history(const thread_record& thread, node_index tip);

} // namespace agui::session
