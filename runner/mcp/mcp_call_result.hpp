#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/tools/tool_registry.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace agui::runner {

/// The model's view of an answer to tools/call: its texts, each on lines of its own; a link to a
/// resource with its URI, name, title, description and type; a short note in place of an image, a
/// sound, a file or an MCP App's page, which tool messages cannot carry; the structured content if
/// there is no text. If the server sent another value where MCP demands a text, the model gets that
/// value as JSON. `isError` makes the outcome an error. The outcome has the effects in `_meta`
/// (effects_member).
[[nodiscard]] tool_outcome read_mcp_call_result(const boost::json::object& result);

/// A call whose result an MCP App may show.
struct mcp_app_call {
    std::string server;       ///< Its configured name.
    std::string resource_uri; ///< mcp_tool::resource_uri
    boost::json::object arguments;
};

/// Adds an activity of the type `mcp-apps` to the outcome's effects, in the form of the AG-UI
/// middleware for MCP Apps, `{result, resourceUri, serverId, serverHash, toolInput}`: if the tool
/// has a `ui://` resource, or the result holds one.
void add_mcp_app(
    tool_outcome& outcome, const boost::json::object& result, const mcp_app_call& call
);

/// The outcome for the model if there is no result. The text of a JSON-RPC error is passed on, like
/// that of a result; addresses and details are for the log only.
[[nodiscard]] tool_outcome mcp_call_failure(const mcp_failure& why);

} // namespace agui::runner
