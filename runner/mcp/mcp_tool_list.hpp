#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// A tool as its MCP server describes it. Its description, and each `description`, `title` and
/// `$comment` of its schema, is sound_text() with line breaks and tabs. Data in the schema (`enum`,
/// `const`, `default`, `examples`) and names of parameters are unchanged, because a call repeats
/// them.
struct mcp_tool {
    std::string name; ///< Unchanged, because the server knows the tool by this name only.
    std::string description;
    boost::json::object schema; ///< Schema of the arguments; empty if the server gave no object.
    /// False if the server says that the tool only reads, or destroys nothing (annotations
    /// readOnlyHint, destructiveHint).
    bool destructive = true;
    std::size_t bytes = 0; ///< Size of the texts and of the schema as text.
    /// The `ui://` resource that shows its results (MCP Apps); empty if it has none.
    std::string resource_uri = {};
};

/// One page of an answer to tools/list.
struct mcp_tool_page {
    std::vector<mcp_tool> tools;
    /// Number of entries that are no tools with a name or exceed a limit.
    std::size_t left_out = 0;
    std::string next_cursor; ///< Empty on the last page.
};

/// Nullopt if `result` is no answer to tools/list.
[[nodiscard]] std::optional<mcp_tool_page> read_mcp_tool_page(boost::json::object result);

/// True for a `ui://` URI of at most 2 KB.
[[nodiscard]] bool is_mcp_app_uri(std::string_view uri) noexcept;

/// The name under which a server's tool is registered and shown to clients: `mcp__SERVER__TOOL`,
/// with sound_text() of the tool's name. tool_names adapts it for model servers.
[[nodiscard]] std::string mcp_offered_name(std::string_view server, std::string_view tool);

/// True for 1 to 32 of A-Z a-z 0-9 _ - without `__` and without an underscore at either end. Thus
/// tools of two servers never have the same name.
[[nodiscard]] bool is_mcp_server_name(std::string_view name) noexcept;

} // namespace agui::runner
