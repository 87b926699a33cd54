#include "runner/mcp/mcp_accepted_tools.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace agui::runner {

namespace {

// Lines of report_changed() until the list of the server is another one. More of them tell an
// operator nothing, and callers' sessions could differ in endless ways.
constexpr std::size_t reported_changed_max = 32;

// Keeps a log line short.
constexpr std::size_t shown_names_max = 10;

std::string names_in(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), shown_names_max); ++i) {
        text.append(text.empty() ? "" : ", ").append(names[i]);
    }
    if (names.size() > shown_names_max) {
        text.append(" and ").append(std::to_string(names.size() - shown_names_max)).append(" more");
    }
    return text;
}

} // namespace

mcp_accepted_tools::mcp_accepted_tools(std::string server, std::string digest, logger& log)
    : server_(std::move(server)), log_(log), accepted_(std::move(digest)) {}

bool mcp_accepted_tools::accept(std::string digest) {
    if (digest == accepted_) {
        return false;
    }
    accepted_ = std::move(digest);
    reported_changed_.clear();
    // The server may give no list any more, so tools that are not accepted end before it does.
    refuses_ = is_pinned() && digests_.digest() != accepted_;
    return true;
}

mcp_tool_digests::changes
mcp_accepted_tools::take(const std::vector<mcp_tool>& tools, bool is_repeated) {
    if (!is_repeated) {
        reported_changed_.clear();
    }
    mcp_tool_digests::changes found = digests_.update(tools);
    refuses_ = is_pinned() && digests_.digest() != accepted_;
    return found;
}

void mcp_accepted_tools::report(const mcp_tool_digests::changes& found) {
    if (refuses_) {
        report_refused(found);
        return;
    }
    reported_refusal_.clear();
    if (!found.empty()) {
        log_.log(
            found.changed.empty() ? log_level::info : log_level::warning,
            "the tools of an MCP server have changed",
            {{"server", server_},
             {"changed", names_in(found.changed)},
             {"added", names_in(found.added)},
             {"removed", names_in(found.removed)}}
        );
    }
}

void mcp_accepted_tools::report_refused(const mcp_tool_digests::changes& found) {
    std::string refused = accepted_ + " " + digests_.digest();
    const bool known = refused == reported_refusal_;
    reported_refusal_ = std::move(refused);
    log_.log(
        known ? log_level::debug : log_level::error,
        "the tools of an MCP server are not offered, because their definitions are not the "
        "accepted ones",
        {{"server", server_},
         {"accepted", accepted_},
         {"found", digests_.digest()},
         {"changed", names_in(found.changed)},
         {"added", names_in(found.added)},
         {"removed", names_in(found.removed)}}
    );
}

std::optional<mcp_failure>
mcp_accepted_tools::check_offered(std::string_view tool, std::string_view definition) const {
    if (refuses_) {
        return changed_definition("the definitions of the server's tools are not the accepted ones"
        );
    }
    if (is_pinned() && digests_.digest_of(tool) != definition) {
        return changed_definition("the tool was offered with a definition that was replaced");
    }
    return std::nullopt;
}

mcp_tool_digests::comparison mcp_accepted_tools::compare(const std::vector<mcp_tool>& tools) {
    mcp_tool_digests::comparison found = digests_.compare(tools);
    if (!found.changed.empty()) {
        report_changed(found.changed);
    }
    return found;
}

/// Logs once that a caller's session has changed tools.
void mcp_accepted_tools::report_changed(const std::vector<std::string>& changed) {
    std::string names = names_in(changed);
    const bool is_new =
        reported_changed_.size() < reported_changed_max && reported_changed_.insert(names).second;
    log_.log(
        is_new ? log_level::error : log_level::debug,
        "the tools of an MCP server are not called for a caller, because their definitions in the "
        "caller's session are not the accepted ones",
        {{"server", server_}, {"accepted", accepted_}, {"changed", std::move(names)}}
    );
}

mcp_failure changed_definition(std::string detail) {
    return {.what = mcp_failure::kind::changed, .detail = std::move(detail)};
}

} // namespace agui::runner
