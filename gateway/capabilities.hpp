#pragma once

#include "gateway/config/config.hpp"
#include "runner/tools/tool_registry.hpp"

#include <boost/json/object.hpp>

namespace agui::gateway {

/// The AgentCapabilities object of AG-UI 1.1 for an agent of the configuration: the features that
/// its clients may rely on. `tools` are the program's own tools and the webhooks; those of MCP
/// servers may change and are judged by the configuration. Members that depend on more than that,
/// such as the pictures that a model understands, are left out: absent means unknown.
[[nodiscard]] boost::json::object
capabilities_of(const config& all, const agent_config& agent, const runner::tool_set& tools);

} // namespace agui::gateway
