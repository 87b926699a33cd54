#pragma once

#include "gateway/config/config.hpp"

#include <iosfwd>

namespace agui::gateway {

/// Asks each MCP server of the configuration for its tools and prints, as TOML, its name, the
/// digest of its list (`mcp_servers.digest`) and, as comments, everything that is used of each
/// tool's definition, with invisible characters as `\uXXXX` (visible_text()). A server that does
/// not list its tools is a line in `problems`. Returns true if all servers have. Blocks until then:
/// for the time limits of a session at most.
[[nodiscard]] bool print_mcp_tools(const config& what, std::ostream& out, std::ostream& problems);

} // namespace agui::gateway
