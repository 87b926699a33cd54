#pragma once

#include "gateway/config/config.hpp"
#include "gateway/run/run_settings.hpp"

namespace agui::gateway {

/// Gives the agents of `settings` the tools that only they have: the state's, and the agents that
/// they may call. Throws std::runtime_error for what load_config() refuses, because a program may
/// have changed the configuration since then.
void add_own_tools(const config& all, run_settings& settings);

} // namespace agui::gateway
