#pragma once

#include "runner/mcp/mcp_channel.hpp"
#include "runner/mcp/mcp_tool_digests.hpp"
#include "session/base/log.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {

/// Decides which tools of an MCP server may be offered and called: all of its last list, or, with a
/// digest that an operator has accepted (mcp_server_settings::digest), only those of the list with
/// that digest. Reports changed and refused lists to the log. No I/O. Used by one thread at a time.
class mcp_accepted_tools {
public:
    /// `digest` may be empty. `log` must outlive it.
    mcp_accepted_tools(std::string server, std::string digest, logger& log);

    /// Replaces the digest. Returns false if it is the same. Otherwise the server's list has to be
    /// read again.
    [[nodiscard]] bool accept(std::string digest);

    /// True with a digest: definitions have to be compared before a call.
    [[nodiscard]] bool is_pinned() const noexcept { return !accepted_.empty(); }
    /// True if the last list is not the accepted one: its tools may not be offered or called. False
    /// before the first list.
    [[nodiscard]] bool refuses() const noexcept { return refuses_; }

    /// Takes the server's list. `is_repeated` says that the server has reported no change since the
    /// list before. Returns the changes for report(), to be called once the tools are offered or,
    /// if refuses(), no longer offered.
    [[nodiscard]] mcp_tool_digests::changes
    take(const std::vector<mcp_tool>& tools, bool is_repeated);
    /// Reports a refused list once, and otherwise warns of changed tools, because an operator may
    /// have approved their former description.
    void report(const mcp_tool_digests::changes& found);

    /// Of the last list.
    [[nodiscard]] std::string digest() const { return digests_.digest(); }
    /// mcp_tool_digest() of a tool of the last list; empty if the list lacks it. The view is valid
    /// until the next take().
    [[nodiscard]] std::string_view digest_of(std::string_view tool) const noexcept {
        return digests_.digest_of(tool);
    }

    /// Nullopt if the tool may be called as the model knows it: with the `definition`
    /// (mcp_tool_digest()) that it was offered. A run offers the tools that it found when it began,
    /// so its model may have read a definition that was accepted until then.
    [[nodiscard]] std::optional<mcp_failure>
    check_offered(std::string_view tool, std::string_view definition) const;

    /// Compares a list in the session of a caller with the last one, and logs changed definitions.
    /// A server may show a caller more tools or fewer, so only the definition of a tool in both
    /// lists can be another one.
    [[nodiscard]] mcp_tool_digests::comparison compare(const std::vector<mcp_tool>& tools);

private:
    void report_refused(const mcp_tool_digests::changes& found);
    void report_changed(const std::vector<std::string>& changed);

    const std::string server_;
    logger& log_;
    mcp_tool_digests digests_; ///< Digests of the last list.
    std::string accepted_;     ///< May be empty.
    bool refuses_ = false;
    std::string reported_refusal_; ///< The last refused list; it is not repeated.
    /// Last lines of report_changed(); they are not repeated.
    std::set<std::string> reported_changed_;
};

/// The definition of a tool is not the one that was accepted.
[[nodiscard]] mcp_failure changed_definition(std::string detail);

} // namespace agui::runner
