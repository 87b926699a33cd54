#pragma once

#include "session/conversation/message.hpp"

#include <vector>

namespace agui::session {

/// Makes the message ids of an input unique, as a snapshot requires. A duplicate message counts
/// once. Of two user messages with the same id, the last counts. Any other message whose id an
/// earlier message or a user message has gets a new id, always the same one for the same input.
/// Returns true if anything changed.
bool make_ids_distinct(std::vector<message>& messages);

} // namespace agui::session
