#pragma once

#include "gateway/run/live_run.hpp"
#include "gateway/run/run_core.hpp"

#include <string>
#include <vector>

namespace agui::gateway {

/// Moves the readers of a run, which another process may have taken over, to its stored events once
/// the store can be read. They get `events` if the store has less than they may have seen, or fails
/// for another reason than being unreachable. Called on the run's executor; does not wait.
void go_on_elsewhere(run_core& core, const live_run& run, std::vector<std::string> events);

} // namespace agui::gateway
