// The callers' own credentials for a webhook or an MCP server.
#include "gateway/config/config_values.hpp"
#include "session/base/ascii.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {
namespace {

void describe_user_token(config_table& table, user_token_config& entry) {
    caller_name_value(table, "user", entry.user);
    if (!table.is_printed() && entry.user.empty()) {
        table.problem("user", "is missing: it is the user whose token this is");
    }
    if (table.uses(!entry.tenant.empty())) {
        caller_name_value(table, "tenant", entry.tenant);
    }
    secret_value(table, "token", entry.token);
    if (!table.is_printed() && !table.has("token_env") && !table.has("token_file")) {
        table.problem("token_file", "is missing: name the file that holds the token, or token_env");
    }
}

// Accept and those with mcp- are headers of MCP itself, and a cookie holds more than a token.
bool may_carry_credentials(const std::string& name) {
    return may_be_passed(name) && name != "accept" && name != "cookie" && !name.starts_with("mcp-");
}

void read_header(config_table& table, std::string_view key, std::string& name) {
    if (table.value(key, name) && !may_carry_credentials(to_lower(name))) {
        table.problem(key, "is not the name of a header that can carry a token");
    }
}

void check_users(config_table& table, const caller_credentials_config& callers) {
    std::set<std::pair<std::string_view, std::string_view>> names;
    for (const user_token_config& each : callers.tokens) {
        if (!names.emplace(each.tenant, each.user).second) {
            table.problem("user_tokens", "names the user \"" + each.user + "\" twice");
        }
    }
}

} // namespace

void caller_credentials_value(config_table& table, caller_credentials_config& callers) {
    if (table.uses(callers.may_have_tokens())) {
        // An empty list is that of a tool whose last user was removed: it refuses all calls.
        callers.lists_tokens = callers.lists_tokens || table.has("user_tokens");
        table.tables("user_tokens", callers.tokens, describe_user_token);
        check_users(table, callers);
    }
    if (table.uses(!callers.from.empty())) {
        read_header(table, "user_token_from", callers.from);
        callers.from = to_lower(callers.from);
    }
    if (table.uses(callers.are_required())) {
        read_header(table, "user_token_as", callers.as);
    }
    if (!callers.are_required() && table.has("user_token_as")) {
        table.problem("user_token_as", "needs user_tokens or user_token_from");
    }
}

} // namespace agui::gateway
