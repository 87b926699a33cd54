#pragma once

#include "gateway/config/config.hpp"

#include <boost/json/object.hpp>

namespace agui::gateway {

/// The AgentCapabilities object of AG-UI 1.1 for an agent of the configuration: what its clients
/// may rely on. Members that depend on more than the configuration, such as what a model makes of a
/// picture or which tools an MCP server lists, are left out: absent means unknown.
[[nodiscard]] boost::json::object capabilities_of(const config& all, const agent_config& agent);

} // namespace agui::gateway
