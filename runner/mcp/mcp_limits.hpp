#pragma once

#include <chrono>
#include <cstddef>

namespace agui::runner {

// What an MCP server may send and how long it may take. A server is configured by the operator, but
// a mistake of it must not take the gateway's memory.

/// One JSON-RPC message, or batch: room for an image of several megabytes as base64.
inline constexpr std::size_t mcp_message_bytes_max = 16U << 20U;
/// Nesting of a message. Schemas come close to half of it.
inline constexpr std::size_t mcp_message_depth_max = 128;
/// Messages of one batch (a revision of 2025-03-26 may send them).
inline constexpr std::size_t mcp_batch_max = 1024;
/// Messages that wait until the server takes them, in bytes.
inline constexpr std::size_t mcp_unsent_bytes_max = 4 * mcp_message_bytes_max;
/// Answers to a server's own requests and notifications that are under way: a server that asks
/// without end is not answered any more.
inline constexpr std::size_t mcp_replies_max = 64;
/// A session id, which is sent with every request.
inline constexpr std::size_t mcp_session_id_bytes_max = 1024;
/// What a server says about an error, of which the model is told this much.
inline constexpr std::size_t mcp_error_text_bytes_max = 2048;

// The list of tools. All of it is sent to the model with every request.
inline constexpr std::size_t mcp_list_pages_max = 64;
inline constexpr std::size_t mcp_tools_max = 512;
inline constexpr std::size_t mcp_tool_name_bytes_max = 256;
inline constexpr std::size_t mcp_description_bytes_max = 16U << 10U;
inline constexpr std::size_t mcp_schema_bytes_max = 64U << 10U;     ///< As for a client's tools.
inline constexpr std::size_t mcp_definitions_bytes_max = 4U << 20U; ///< All tools of a server.
inline constexpr std::size_t mcp_cursor_bytes_max = 64U << 10U;

/// Model servers accept no longer name of a tool.
inline constexpr std::size_t mcp_offered_name_max = 64;

/// A line of a child's standard error, of which the log is told this much.
inline constexpr std::size_t mcp_stderr_line_max = 1024;

} // namespace agui::runner
