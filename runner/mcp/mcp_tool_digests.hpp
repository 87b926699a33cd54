#pragma once

#include "runner/mcp/mcp_tool_list.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace agui::runner {

/// SHA-256 of a tool's name, description and schema, as lower-case hexadecimal. The order of the
/// schema's members does not count, so that it is the same after a restart of the server.
[[nodiscard]] std::string mcp_tool_digest(const mcp_tool& tool);

/// What a server's list of tools was, so that a change can be seen: a server that was checked once
/// may describe its tools otherwise later.
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

    /// Takes a list. Returns how it differs from the one before; empty for the first one. No two
    /// tools have the same name.
    changes update(const std::vector<mcp_tool>& tools);

    /// SHA-256 of the list, as lower-case hexadecimal. The order of the tools does not count.
    [[nodiscard]] std::string digest() const;

private:
    std::optional<std::map<std::string, std::string>> known_; ///< Digests, by name.
};

} // namespace agui::runner
