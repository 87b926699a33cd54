#pragma once

#include "session/conversation/message.hpp"

#include <vector>

namespace agui::session {

/// Makes the ids of an input's messages differ, as those of a snapshot must. A message that is
/// there twice counts once. Of two user messages with one id the last counts. Any other message
/// with an id that an earlier one or a user message has gets an id of its own, the same for the
/// same input. True if there was anything to do.
bool make_ids_distinct(std::vector<message>& messages);

} // namespace agui::session
