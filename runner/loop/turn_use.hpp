#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace agui::runner {

/// What a user turn has used: everything since the branch's last user message, over all its runs. A
/// hand-off makes one turn of many runs, and no limit of a run may be evaded that way.
struct turn_use {
    std::uint32_t rounds = 0;  ///< Answers of the model that held calls.
    std::uint64_t tokens = 0;  ///< Of the answers that say how many (turn_origin::tokens).
    std::string last_provider; ///< Of the last answer that names it; empty: none does.
};

/// Of the branch that ends in `tip`.
[[nodiscard]] turn_use use_of_turn(const session::thread_record& thread, session::node_index tip);

/// The last calls of the turn, at most `most`, oldest first.
[[nodiscard]] std::vector<session::tool_call>
last_calls(const session::thread_record& thread, session::node_index tip, std::size_t most);

} // namespace agui::runner
