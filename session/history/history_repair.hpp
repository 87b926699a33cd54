#pragma once

#include "session/history/history_selection.hpp"

#include <vector>

namespace agui::session {

/// Makes any list of messages fit for any model server (P5), however it was selected, shortened or
/// edited: each tool call is answered once, right after the assistant message that holds it, in
/// call order; a call without a result gets an explicit error result by its status; results without
/// a call and repeated results are left out; a call that is repeated in a later message is left out
/// with its result; reasoning stands right before the answer whose origin names it, or is left out;
/// assistant messages that hold nothing but white space are left out; arguments are always a JSON
/// object: empty ones `{}`, others `{"INVALID_JSON":"<the text>"}`. It never invents a success.
///
/// Pure. Messages already in this form stay the same, byte for byte.
[[nodiscard]] std::vector<message> repair_history(history_selection selected);

} // namespace agui::session
