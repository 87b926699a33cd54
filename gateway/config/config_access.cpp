#include "gateway/config/config_access.hpp"

#include "gateway/http/listener.hpp"
#include "session/base/contains.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace agui::gateway {
namespace {

/// Shorter tokens that people make up can be guessed.
constexpr std::size_t token_length_min = 16;
/// The header that carries a bearer token.
constexpr std::string_view token_header = "authorization";

/// `place` is the key and what must not be the header, such as `user_token_from of "T" must not
/// be`.
void add_token_problem(
    std::vector<access_problem>& problems, std::string_view table, std::string place
) {
    place.append(" Authorization, because with this auth.mode the header carries the gateway's own "
                 "token: use X-Upstream-Authorization");
    problems.push_back({table, std::move(place)});
}

/// Finds what would give the gateway's own token to a tool.
void check_tool(
    std::vector<access_problem>& problems, std::string_view table, const std::string& tool,
    const std::vector<std::string>& passed, const caller_credentials_config& callers
) {
    if (contains(passed, token_header)) {
        add_token_problem(problems, table, "pass_headers of \"" + tool + "\" must not hold");
    }
    if (callers.from == token_header) {
        add_token_problem(problems, table, "user_token_from of \"" + tool + "\" must not be");
    }
}

void check_file(std::vector<std::string>& found, const std::string& key, const secret& value) {
    if (value.file.empty()) {
        return;
    }
    std::error_code unreadable; // The file has been read, so it exists.
    const std::filesystem::perms allowed =
        std::filesystem::status(value.file, unreadable).permissions();
    constexpr auto of_others =
        std::filesystem::perms::others_read | std::filesystem::perms::others_write;
    if (!unreadable && (allowed & of_others) != std::filesystem::perms::none) {
        found.push_back(key + "_file: every user of this machine can read or change the file");
    }
}

void check_token(std::vector<std::string>& found, const std::string& key, const secret& token) {
    const bool is_named = !token.file.empty() || !token.environment.empty();
    if ((is_named || !token.value.empty()) && token.value.size() < token_length_min) {
        found.push_back(
            key + (token.file.empty() ? "_env" : "_file") +
            ": the token has fewer than 16 characters and can be guessed"
        );
    }
    check_file(found, key, token);
}

void check_sessions(std::vector<std::string>& found, const config& what) {
    const auth_session_config& session = what.auth->session;
    check_file(found, "auth.session.secret", session.key);
    if (session.enabled && session.key.value.empty()) {
        found.emplace_back("auth.session: without secret_env or secret_file, sessions end with the "
                           "process and hold in no other gateway");
    }
}

// Settings that let nobody in, or others than they should.
void check_auth(std::vector<std::string>& found, const config& what) {
    const auth_config& auth = *what.auth;
    for (const token_config& each : auth.tokens) {
        if (each.scopes.empty()) {
            found.push_back(
                "auth.tokens[" + each.name + "]: without scopes, the token opens nothing"
            );
        }
    }
    if (auth.kind == auth_config::mode::jwt && auth.scopes.empty() && auth.scope_claim.empty()) {
        found.emplace_back("auth.scopes: without scopes or scope_claim, no token opens anything");
    }
    check_sessions(found, what);
    if (auth.kind != auth_config::mode::proxy) {
        return;
    }
    if (what.server.trusted_proxies.empty()) {
        found.emplace_back(
            "auth.mode: with \"proxy\" and no server.trusted_proxies, every request is refused"
        );
    }
    if (std::ranges::any_of(what.server.trusted_proxies, [](const std::string& each) {
            return each.ends_with("/0");
        })) {
        found.emplace_back("server.trusted_proxies: with auth.mode \"proxy\" and a network of all "
                           "addresses, every client can name itself any user");
    }
    if (auth.scopes.empty() && (auth.groups_header.empty() || auth.group_scopes.empty())) {
        found.emplace_back("auth.scopes: without scopes, or groups_header and group_scopes, users "
                           "of the proxy can do nothing");
    }
}

} // namespace

bool accepts_everybody(const config& all) noexcept {
    return !all.auth || all.auth->kind == auth_config::mode::none;
}

bool listens_on_loopback(const server_config& server) {
    try {
        return parse_endpoint(server.listen).address().is_loopback();
    } catch (const std::invalid_argument&) {
        return true;
    }
}

std::vector<access_problem> access_problems(const config& all) {
    using mode = auth_config::mode;
    std::vector<access_problem> problems;
    const bool is_open = !listens_on_loopback(all.server);
    if (!all.auth && is_open) {
        problems.push_back(
            {"auth", "is required because server.listen is not a loopback address (mode = \"none\" "
                     "lets everybody in)"}
        );
    }
    if (all.auth && all.auth->kind == mode::none && is_open && all.server.allowed_hosts.empty()) {
        problems.push_back(
            {"server", "allowed_hosts is required because auth.mode is \"none\" and listen is not "
                       "a loopback address: without it, a page of another site whose name resolves "
                       "to this gateway could send requests"}
        );
    }
    if (all.auth && (all.auth->kind == mode::bearer || all.auth->kind == mode::jwt)) {
        for (const webhook_config& tool : all.tools.webhooks) {
            check_tool(problems, "tools", tool.definition.name, tool.pass_headers, tool.callers);
        }
        for (const mcp_server_config& server : all.tools.mcp_servers) {
            check_tool(problems, "mcp_servers", server.name, server.pass_headers, server.callers);
        }
    }
    return problems;
}

namespace {

using left_out_lines = std::vector<std::string>;

// Whether callers have credentials of their own is decided at the start.
void take_tokens(
    left_out_lines& left_out, const std::string& name, caller_credentials_config& running,
    const caller_credentials_config& fresh
) {
    if (running.may_have_tokens()) {
        running.lists_tokens = true;
        running.tokens = fresh.tokens;
    } else if (fresh.may_have_tokens()) {
        left_out.push_back(name + ".user_tokens: needs a restart, because there were none");
    }
}

// The tokens may have been revoked, and others may not belong to the server that is running.
void end_tokens(
    left_out_lines& left_out, const std::string& name, caller_credentials_config& running
) {
    if (running.may_have_tokens()) {
        running.lists_tokens = true;
        running.tokens.clear();
        left_out.push_back(
            name + ": needs a restart, because it was changed or removed; until then, calls with "
                   "its user_tokens are refused"
        );
    }
}

// Tokens and a digest belong to the server for which they were made.
void take_tools(left_out_lines& left_out, tools_config& running, const tools_config& fresh) {
    for (mcp_server_config& server : running.mcp_servers) {
        const std::string name = "mcp_servers." + server.name;
        const auto same =
            std::ranges::find(fresh.mcp_servers, server.name, &mcp_server_config::name);
        if (same != fresh.mcp_servers.end() && same->url == server.url &&
            same->command == server.command && same->args == server.args) {
            server.digest = same->digest;
            take_tokens(left_out, name, server.callers, same->callers);
        } else {
            end_tokens(left_out, name, server.callers);
        }
    }
    for (webhook_config& tool : running.webhooks) {
        const std::string name = "tools.webhook." + tool.definition.name;
        const auto same = std::ranges::find_if(fresh.webhooks, [&tool](const auto& each) {
            return each.definition.name == tool.definition.name;
        });
        if (same != fresh.webhooks.end() && same->url == tool.url) {
            take_tokens(left_out, name, tool.callers, same->callers);
        } else {
            end_tokens(left_out, name, tool.callers);
        }
    }
}

} // namespace

config_result<reread_config> with_secrets_of(config running, const config& fresh) {
    if (running.auth && !fresh.auth) { // The file may be just being written.
        return config_problems{{"auth: the table is missing; mode = \"none\" lets everybody in"}};
    }
    running.auth = fresh.auth;
    if (running.session.store == fresh.session.store) {
        running.session.store_password = fresh.session.store_password;
    }
    for (model_config& model : running.models) {
        const auto same = std::ranges::find(fresh.models, model.name, &model_config::name);
        if (same != fresh.models.end()) {
            model.api_key = same->api_key;
        }
    }
    std::vector<std::string> left_out;
    take_tools(left_out, running.tools, fresh.tools);
    config_problems problems;
    for (const access_problem& each : access_problems(running)) {
        problems.lines.push_back(std::string(each.table) + ": " + each.text);
    }
    if (!problems.lines.empty()) {
        return problems;
    }
    return reread_config{std::move(running), std::move(left_out)};
}

std::vector<std::string> weak_secrets(const config& what) {
    std::vector<std::string> found;
    if (what.auth && what.auth->kind == auth_config::mode::bearer) {
        check_token(found, "auth.token", what.auth->token);
        for (const token_config& each : what.auth->tokens) {
            check_token(found, "auth.tokens[" + each.name + "].token", each.token);
        }
    }
    check_file(found, "session.store_password", what.session.store_password);
    for (const model_config& model : what.models) {
        check_file(found, "models." + model.name + ".api_key", model.api_key);
    }
    const auto check_tokens_of = [&found](const std::string& name, const auto& callers) {
        for (const user_token_config& each : callers.tokens) {
            check_file(found, name + ".user_tokens[" + each.user + "].token", each.token);
        }
    };
    for (const webhook_config& tool : what.tools.webhooks) {
        check_tokens_of("tools.webhook." + tool.definition.name, tool.callers);
    }
    for (const mcp_server_config& server : what.tools.mcp_servers) {
        check_tokens_of("mcp_servers." + server.name, server.callers);
    }
    return found;
}

std::vector<std::string> warnings_of(const config& what) {
    std::vector<std::string> lines = weak_secrets(what);
    const bool limits_cost = std::ranges::any_of(what.quotas, [](const quota_config& quota) {
        return quota.limits.day.micro_cost || quota.limits.month.micro_cost;
    });
    const bool has_price = std::ranges::any_of(what.models, [](const model_config& model) {
        return model.metering.price != model_price();
    });
    if (limits_cost && !has_price) {
        lines.emplace_back("quotas: cost is limited, but no model has a price, so nothing costs "
                           "anything");
    }
    const bool has_default =
        std::ranges::find(what.agents, "default", &agent_config::id) != what.agents.end();
    if (!what.server.copilotkit_path.empty() && !has_default) {
        lines.emplace_back("server.copilotkit_path: CopilotKit's pages use the agent \"default\" "
                           "unless they are told another one, and there is none");
    }
    if (what.auth) {
        check_auth(lines, what);
    }
    const auto names_users = [](const auto& one) {
        return !one.callers.tokens.empty();
    };
    if (accepts_everybody(what) && (std::ranges::any_of(what.tools.webhooks, names_users) ||
                                    std::ranges::any_of(what.tools.mcp_servers, names_users))) {
        lines.emplace_back("user_tokens: without authentication no caller is a user, so no call "
                           "has any of these tokens");
    }
    const bool is_reachable = !listens_on_loopback(what.server) || !what.server.public_url.empty();
    if (what.server.console && accepts_everybody(what) && is_reachable) {
        lines.emplace_back("server.console: without authentication, everybody who reaches the "
                           "gateway reads everything that models are sent");
    }
    return lines;
}

} // namespace agui::gateway
