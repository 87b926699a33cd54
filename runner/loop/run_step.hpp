#pragma once

#include "session/conversation/thread.hpp"

#include <span>

namespace agui::runner {

/// The next step of a run.
enum class run_step {
    ask_model,
    execute_calls, ///< The server's calls of a stored answer have no results yet.
    ask_approval,  ///< Nothing can be executed before a person approves it, so the run ends.
    hand_over,     ///< Only the caller can answer the open calls, so the run ends.
};

/// True if the server may execute the call of its run now.
[[nodiscard]] bool is_executable(const session::call_record& call) noexcept;

/// Decides by the run's stored calls alone, because a run can begin with calls that are already
/// stored. `open` holds the run's calls without a result.
[[nodiscard]] run_step next_run_step(std::span<const session::call_record> open) noexcept;

} // namespace agui::runner
