#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/loop_detector.hpp"
#include "session/conversation/thread.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace agui::runner {

/// A detector that knows the answers of the user turn up to the one that ends at `tip`. Nullopt if
/// the agent has no detection.
[[nodiscard]] std::optional<loop_detector> detector_of_turn(
    const session::thread_record& thread, session::node_index tip, const turn_limits& limits
);

/// The agent's action on a loop.
[[nodiscard]] loop_action action_on(const found_loop& found, const turn_limits& limits);

/// Warnings by call id for the calls of the answer `made_in`, to be put in front of their results.
/// Used for external calls, whose results the caller gives: the run itself warns in results of
/// server calls. Parses the arguments of the turn's last calls.
[[nodiscard]] std::map<std::string, std::string, std::less<>> warnings_before_results(
    const session::thread_record& thread, session::node_index made_in, const turn_limits& limits
);

} // namespace agui::runner
