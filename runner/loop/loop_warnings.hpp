#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/loop_detector.hpp"
#include "session/conversation/thread.hpp"

#include <optional>
#include <string>

namespace agui::runner {

/// A detector that knows the answers of the user turn up to the one that `tip` ends with. Empty:
/// the agent has no detection.
[[nodiscard]] std::optional<loop_detector> detector_of_turn(
    const session::thread_record& thread, session::node_index tip, const turn_limits& limits
);

/// The agent's action on a loop.
[[nodiscard]] loop_action action_on(const found_loop& found, const turn_limits& limits);

/// What belongs in front of the caller's result of an external call; nullopt: nothing. A call of
/// the server has its warning from its run.
[[nodiscard]] std::optional<std::string> warning_before_result(
    const session::thread_record& thread, const session::call_record& call,
    const turn_limits& limits
);

} // namespace agui::runner
