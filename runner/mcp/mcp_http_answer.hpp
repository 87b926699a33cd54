#pragma once

#include "runner/http/http_transport.hpp"
#include "runner/mcp/mcp_channel.hpp"

#include <cstdint>
#include <string_view>

namespace agui::runner {

// How the answers of an MCP server over HTTP are read.

/// True if the answer's Content-Type, without parameters, is `type`.
[[nodiscard]] bool has_type(const transport_response& response, std::string_view type);

[[nodiscard]] mcp_failure mcp_failure_of(const transport_failure& failed);

enum class mcp_body_kind : std::uint8_t { undecided, document, stream, other };

/// The kind of a body that begins with `begun`; undecided if more of it is needed.
[[nodiscard]] mcp_body_kind mcp_body_kind_of(std::string_view begun) noexcept;

/// True for a session id that a header can carry (MCP: visible ASCII).
[[nodiscard]] bool is_mcp_session_id(std::string_view text) noexcept;

} // namespace agui::runner
