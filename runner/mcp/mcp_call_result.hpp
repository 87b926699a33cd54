#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/tools/tool_registry.hpp"

#include <boost/json/object.hpp>

namespace agui::runner {

/// What the model is told of an answer to tools/call: its texts, with a line between two; a short
/// note in place of an image, a sound or a file, which tool messages cannot carry; the structured
/// content if there is no text. `isError` makes it an error.
[[nodiscard]] tool_outcome read_mcp_call_result(const boost::json::object& result);

/// What the model is told if there is no answer. The server's words of a JSON-RPC error are passed
/// on, as those of a result are; addresses and details are for the log.
[[nodiscard]] tool_outcome mcp_call_failure(const mcp_failure& why);

} // namespace agui::runner
