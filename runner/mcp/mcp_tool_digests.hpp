#pragma once

#include "runner/mcp/mcp_tool_list.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// SHA-256 of everything that is used of a tool's definition, in lower-case hexadecimal: name,
/// description, schema, whether it is destructive, and its resource. It does not depend on the
/// order of the schema's members, so a restart of the server does not change it.
[[nodiscard]] std::string mcp_tool_digest(const mcp_tool& tool);

/// Digests of a server's tools. Detects tools whose definition changed, even while they were absent
/// from the list; 512 absent tools are remembered.
class mcp_tool_digests {
public:
    /// Names of tools, sorted.
    struct changes {
        std::vector<std::string> changed;
        std::vector<std::string> added;
        std::vector<std::string> removed;

        [[nodiscard]] bool empty() const noexcept {
            return changed.empty() && added.empty() && removed.empty();
        }
    };

    /// Takes a list and returns its difference to the previous list; empty for the first one. A
    /// tool that returns to the list counts as changed if it differs from its former definition,
    /// else as added. Names must be unique.
    changes update(const std::vector<mcp_tool>& tools);

    /// Another list beside the last one.
    struct comparison {
        std::vector<std::string> changed;        ///< In both lists, with other definitions; sorted.
        std::set<std::string, std::less<>> same; ///< In both lists, with the same definition.
    };
    [[nodiscard]] comparison compare(const std::vector<mcp_tool>& tools) const;

    /// mcp_tool_digest() of a tool of the last list; empty if the list lacks it. The view is valid
    /// until the next update().
    [[nodiscard]] std::string_view digest_of(std::string_view tool) const noexcept;

    /// SHA-256 of the list, in lower-case hexadecimal. It does not depend on the order of the
    /// tools.
    [[nodiscard]] std::string digest() const;

private:
    struct record {
        std::string digest;
        std::uint64_t last_list = 0; ///< Number of the last list with the tool.
    };

    std::map<std::string, record, std::less<>> known_; ///< By name.
    std::uint64_t lists_ = 0;
};

} // namespace agui::runner
