#include "gateway/tool_credentials.hpp"

#include "gateway/auth/caller.hpp"

#include <string_view>
#include <utility>

namespace agui::gateway {
namespace {

runner::stored_credentials::by_principal tokens_of(const caller_credentials_config& callers) {
    runner::stored_credentials::by_principal tokens;
    for (const user_token_config& each : callers.tokens) {
        tokens.emplace(principal_of(each.tenant, each.user), each.token.value);
    }
    return tokens;
}

void add(stored_by_name& to, const std::string& name, const caller_credentials_config& callers) {
    if (callers.may_have_tokens()) {
        to.emplace(name, std::make_shared<runner::stored_credentials>(tokens_of(callers)));
    }
}

void put(
    const stored_by_name& to, const std::string& name, const caller_credentials_config& callers
) {
    if (const auto found = to.find(name); found != to.end()) {
        found->second->replace(tokens_of(callers));
    }
}

runner::caller_credentials from(
    const stored_by_name& stored, const std::string& name, const caller_credentials_config& callers
) {
    const auto found = stored.find(name);
    return {callers.as, callers.from, found == stored.end() ? nullptr : found->second};
}

} // namespace

tool_credentials::tool_credentials(const tools_config& tools) {
    for (const webhook_config& tool : tools.webhooks) {
        add(webhooks_, tool.definition.name, tool.callers);
    }
    for (const mcp_server_config& server : tools.mcp_servers) {
        add(mcp_servers_, server.name, server.callers);
    }
}

runner::caller_credentials tool_credentials::of(const webhook_config& tool) const {
    return from(webhooks_, tool.definition.name, tool.callers);
}

runner::caller_credentials tool_credentials::of(const mcp_server_config& server) const {
    return from(mcp_servers_, server.name, server.callers);
}

void tool_credentials::replace(const tools_config& tools) const {
    for (const webhook_config& tool : tools.webhooks) {
        put(webhooks_, tool.definition.name, tool.callers);
    }
    for (const mcp_server_config& server : tools.mcp_servers) {
        put(mcp_servers_, server.name, server.callers);
    }
}

} // namespace agui::gateway
