#pragma once

#include "runner/loop/conversation.hpp"
#include "runner/loop/model_turn.hpp"

#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

/// A model's answer before it is stored in the thread.
struct said_answer {
    std::vector<session::message> messages;
    std::vector<session::call_record> calls; ///< Open calls; each is in one of the messages.
};

/// Takes the answer and resets `turn`. Precondition: `turn` has a value.
[[nodiscard]] said_answer take_answer(std::optional<model_turn>& turn, const std::string& run_id);

/// The change that stores the answer at the tip of the branch. Calls that no message holds are left
/// out.
[[nodiscard]] session::changes to_change(const conversation& thread, said_answer said);

} // namespace agui::runner
