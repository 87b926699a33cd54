#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// A tool as its MCP server describes it. Its description is sound_text() with line breaks and
/// tabs, as are `description`, `title` and `$comment` in its schema. Data in the schema (`enum`,
/// `const`, `default`, `examples`) and names of parameters are unchanged: a call repeats them.
struct mcp_tool {
    std::string name; ///< As it is: the server knows the tool by no other name.
    std::string description;
    boost::json::object schema; ///< Of its arguments; empty: the server gave no object.
    std::size_t bytes = 0;      ///< The size of all three, the schema as text.
};

/// One page of an answer to tools/list.
struct mcp_tool_page {
    std::vector<mcp_tool> tools;
    std::size_t left_out = 0; ///< How many entries are no tools with a name, or break a limit.
    std::string next_cursor;  ///< Empty on the last page.
};

/// nullopt: this is no answer to tools/list.
[[nodiscard]] std::optional<mcp_tool_page> read_mcp_tool_page(boost::json::object result);

/// The name under which a server's tool is registered, and which clients see: `mcp__SERVER__TOOL`,
/// sound_text() of the tool's name. Its form for model servers is that of
/// tool_names.
[[nodiscard]] std::string mcp_offered_name(std::string_view server, std::string_view tool);

/// True for 1 to 32 of A-Z a-z 0-9 _ -, without `__` and without an underscore at its ends: then
/// the tools of two servers never have the same name.
[[nodiscard]] bool is_mcp_server_name(std::string_view name) noexcept;

} // namespace agui::runner
