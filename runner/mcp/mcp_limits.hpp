#pragma once

#include <chrono>
#include <cstddef>

namespace agui::runner {

// Limits of what an MCP server may send. Servers are chosen by the operator, but a mistake in one
// must not use up the gateway's memory.

/// Size of a JSON-RPC message or batch. An image of several megabytes fits as base64.
inline constexpr std::size_t mcp_message_bytes_max = 16U << 20U;
/// White space before an answer's first character, which tells its kind.
inline constexpr std::size_t mcp_body_start_max = 1024;
/// Nesting of a message. Some schemas need about half of it.
inline constexpr std::size_t mcp_message_depth_max = 128;
/// Messages in one batch, which revision 2025-03-26 allows.
inline constexpr std::size_t mcp_batch_max = 1024;
/// Bytes of messages that wait for the server to take them.
inline constexpr std::size_t mcp_unsent_bytes_max = 4 * mcp_message_bytes_max;
/// Pending answers to the server's requests, and pending notifications. Above this number, the
/// server gets no more answers.
inline constexpr std::size_t mcp_replies_max = 64;
/// Length of a session id, which is sent with every request.
inline constexpr std::size_t mcp_session_id_bytes_max = 1024;
/// Length of a JSON-RPC error's text for the model: enough to describe an error, too little for
/// instructions of its own.
inline constexpr std::size_t mcp_error_text_characters_max = 500;

// Limits of the list of tools, which is sent to the model with every request.
inline constexpr std::size_t mcp_list_pages_max = 64;
inline constexpr std::size_t mcp_tools_max = 512;
inline constexpr std::size_t mcp_tool_name_bytes_max = 256;
inline constexpr std::size_t mcp_description_bytes_max = 16U << 10U;
/// The limit for a client's tools, too.
inline constexpr std::size_t mcp_schema_bytes_max = 64U << 10U;
/// Limit over all tools of a server.
inline constexpr std::size_t mcp_definitions_bytes_max = 4U << 20U;
inline constexpr std::size_t mcp_cursor_bytes_max = 64U << 10U;

/// Logged length of a line of a child's standard error.
inline constexpr std::size_t mcp_stderr_line_max = 1024;

} // namespace agui::runner
