#pragma once

#include "runner/mcp/mcp_tool_list.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace agui::runner {

/// SHA-256 of a tool's name, description and schema, as lower-case hexadecimal. The order of the
/// schema's members does not count, so that it is the same after a restart of the server.
[[nodiscard]] std::string mcp_tool_digest(const mcp_tool& tool);

/// The tools of a server, as digests. Detects tools whose description changed, also while they were
/// absent from the list; 512 absent tools are remembered.
class mcp_tool_digests {
public:
    /// The names of tools, sorted.
    struct changes {
        std::vector<std::string> changed;
        std::vector<std::string> added;
        std::vector<std::string> removed;

        [[nodiscard]] bool empty() const noexcept {
            return changed.empty() && added.empty() && removed.empty();
        }
    };

    /// Takes a list. Returns how it differs from the one before; empty for the first one. A tool
    /// that comes back is changed if it differs from what it was, else added. No two tools have the
    /// same name.
    changes update(const std::vector<mcp_tool>& tools);

    /// SHA-256 of the list, as lower-case hexadecimal. The order of the tools does not count.
    [[nodiscard]] std::string digest() const;

private:
    struct record {
        std::string digest;
        std::uint64_t last_list = 0; ///< Number of the last list with the tool.
    };

    std::map<std::string, record> known_; ///< By name.
    std::uint64_t lists_ = 0;
};

} // namespace agui::runner
