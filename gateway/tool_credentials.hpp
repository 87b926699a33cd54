#pragma once

#include "gateway/config/config.hpp"
#include "runner/tools/caller_credentials.hpp"

#include <map>
#include <memory>
#include <string>

namespace agui::gateway {

/// By the name of the webhook or of the MCP server.
using stored_by_name =
    std::map<std::string, std::shared_ptr<runner::stored_credentials>, std::less<>>;

/// The credentials of callers that the configuration has for webhooks and MCP servers
/// (`user_tokens`).
class tool_credentials {
public:
    explicit tool_credentials(const tools_config& tools);

    /// Where the calls of the webhook get the credentials of their callers.
    [[nodiscard]] runner::caller_credentials of(const webhook_config& tool) const;
    [[nodiscard]] runner::caller_credentials of(const mcp_server_config& server) const;

    /// Takes the tokens of a later reading with the same tools. Safe while tools are called.
    void replace(const tools_config& tools) const;

private:
    stored_by_name webhooks_; ///< Those with user_tokens. Fixed, like the next.
    stored_by_name mcp_servers_;
};

} // namespace agui::gateway
