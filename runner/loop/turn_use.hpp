#pragma once

#include "runner/base/stop_reason.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <vector>

namespace agui::runner {

/// The use of the turn that ends in `tip`, over all its runs. Tokens are counted for answers that
/// store their number (turn_origin::tokens). A plugin's message begins no turn. An answer without
/// calls is a round if another answer follows it in the turn, because a plugin asked for that one.
[[nodiscard]] turn_use use_of_turn(const session::thread_record& thread, session::node_index tip);

/// The calls of each of the turn's last answers, oldest first. As many answers are returned as hold
/// `most` calls.
[[nodiscard]] std::vector<std::vector<session::tool_call>>
last_calls(const session::thread_record& thread, session::node_index tip, std::size_t most);

} // namespace agui::runner
