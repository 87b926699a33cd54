#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/tools/tool_registry.hpp"

#include <string>
#include <string_view>

namespace agui::runner {

/// The argument of an agent's tool.
inline constexpr std::string_view task_argument = "task";

/// The tool by which a model calls an agent: `{"task": string}`. Runs execute its calls themselves
/// (agent_settings::agents); called in any other way, it is unavailable. It never is destructive,
/// because the agent's own tools are asked about.
[[nodiscard]] server_tool agent_tool(std::string name, const called_agent& agent);

} // namespace agui::runner
