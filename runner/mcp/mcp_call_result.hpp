#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/tools/tool_registry.hpp"

#include <boost/json/object.hpp>

namespace agui::runner {

/// The model's view of an answer to tools/call: its texts, each on lines of its own; a link to a
/// resource with its URI, name, title, description and type; a short note in place of an image, a
/// sound or a file, which tool messages cannot carry; the structured content if there is no text.
/// If the server sent another value where MCP demands a text, the model gets that value as JSON.
/// `isError` makes the outcome an error.
[[nodiscard]] tool_outcome read_mcp_call_result(const boost::json::object& result);

/// The outcome for the model if there is no result. The text of a JSON-RPC error is passed on, like
/// that of a result; addresses and details are for the log only.
[[nodiscard]] tool_outcome mcp_call_failure(const mcp_failure& why);

} // namespace agui::runner
