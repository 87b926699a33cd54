#pragma once

#include "session/base/error.hpp"
#include "session/base/memory_budget.hpp"
#include "session/conversation/message.hpp"
#include "translator/input/run_input.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::translator {

/// A user message for a run that is active.
struct steer_request {
    std::string thread_id;
    std::string run_id;               ///< Empty for whatever run of the thread is active.
    session::message message;         ///< Has an id.
    std::vector<std::string> notes{}; ///< As run_input::notes.
};

/// Reads the body of POST /agui/steer: `threadId`, `runId` (optional), `message`. The message must
/// be a user message with an id, by which a repeat is recognized, and is read as those of
/// read_run_input(). Failures and budget as there; other members are ignored.
[[nodiscard]] result<steer_request> read_steer_request(
    std::string_view body, const input_limits& limits, memory_budget* budget = nullptr
);

} // namespace agui::translator
