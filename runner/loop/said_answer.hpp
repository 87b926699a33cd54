#pragma once

#include "runner/loop/conversation.hpp"
#include "runner/loop/model_turn.hpp"

#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

/// What a model has said, on its way into the thread.
struct said_answer {
    std::vector<session::message> messages;
    std::vector<session::call_record> calls; ///< Open; each is in one of the messages.
};

/// Leaves no turn. Precondition: there is one.
[[nodiscard]] said_answer take_answer(std::optional<model_turn>& turn, const std::string& run_id);

/// The change that stores the answer at the tip of the branch. A call that none of the messages
/// holds is left out.
[[nodiscard]] session::changes to_change(const conversation& thread, said_answer said);

} // namespace agui::runner
