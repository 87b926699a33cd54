// The server's tools: webhooks and MCP servers, and the secrets that they and the models are sent.
#include "gateway/server_parts.hpp"

#include "gateway/http/query.hpp"
#include "runner/mcp/mcp_http_channel.hpp"
#include "runner/mcp/mcp_stdio_channel.hpp"
#include "runner/tools/webhook_tool.hpp"
#include "session/base/ascii.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>
#include <utility>

namespace agui::gateway {
namespace {

/// Adds both readings of a query value: with `+` as itself, and as a space.
void add_decoded(std::vector<std::string>& to, const std::string& value) {
    std::string plus_kept = value;
    for (std::size_t at = 0; (at = plus_kept.find('+', at)) != std::string::npos;) {
        plus_kept.replace(at, 1, "%2B");
    }
    for (const std::string& form : {plus_kept, value}) {
        const result<query_parameters> decoded = parse_query("value=" + form);
        if (const std::string* text = decoded ? decoded->find("value") : nullptr) {
            to.push_back(*text);
        }
    }
}

void add_query_values(std::vector<std::string>& to, const std::string& url) {
    for (std::size_t at = url.find('?'); at != std::string::npos;) {
        const std::size_t end = url.find('&', at + 1);
        const std::string parameter = url.substr(at + 1, end - at - 1);
        if (const std::size_t equals = parameter.find('='); equals != std::string::npos) {
            const std::string value = parameter.substr(equals + 1);
            to.push_back(value);
            add_decoded(to, value);
        }
        at = end;
    }
}

void add_values(std::vector<std::string>& to, const header_list& headers) {
    for (const auto& [name, value] : headers) {
        to.push_back(value);
    }
}

// Recursive, but only as deep as a configuration file nests the value.
void add_strings(std::vector<std::string>& to, const boost::json::value& value) {
    if (const auto* text = value.if_string()) {
        to.emplace_back(*text);
    } else if (const auto* list = value.if_array()) {
        for (const boost::json::value& each : *list) {
            add_strings(to, each);
        }
    } else if (const auto* object = value.if_object()) {
        for (const auto& member : *object) {
            add_strings(to, member.value());
        }
    }
}

/// Adds the values of header_env.
header_list all_headers(header_list headers, const std::map<std::string, secret>& secret_headers) {
    for (const auto& [name, value] : secret_headers) {
        headers.emplace_back(name, value.value);
    }
    return headers;
}

/// The minimal environment of a program, in addition to the configured variables. Holds none of
/// this process's possible secrets.
header_list basic_environment() {
    header_list variables;
    for (const char* const name :
         {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"}) {
        if (const char* const value = std::getenv(name)) {
            variables.emplace_back(name, value);
        }
    }
    return variables;
}

/// A package runner may have to fetch the program first.
constexpr std::chrono::seconds process_start{60};

runner::mcp_stdio_settings make_process(const mcp_server_config& server) {
    runner::mcp_stdio_settings settings;
    settings.server = server.name;
    settings.command.command = server.command;
    settings.command.args = server.args;
    settings.command.cwd = server.cwd;
    settings.command.environment = basic_environment();
    for (const auto& [name, value] : server.environment) {
        std::erase_if(settings.command.environment, [&name](const auto& each) {
            return each.first == name;
        });
        settings.command.environment.emplace_back(name, value);
        settings.secrets.push_back(value);
    }
    settings.secrets.insert(settings.secrets.end(), server.args.begin(), server.args.end());
    return settings;
}

void add_tokens(std::vector<std::string>& to, const caller_credentials_config& callers) {
    for (const user_token_config& each : callers.tokens) {
        to.push_back(each.token.value);
    }
}

/// The headers beside a caller's credentials: header_env holds the gateway's own, and so may a
/// header of the same name.
header_list headers_beside(const caller_credentials_config& callers, header_list headers) {
    std::erase_if(headers, [&callers](const auto& each) {
        return equal_ignoring_case(each.first, callers.as);
    });
    return headers;
}

/// The endpoint for sessions of callers.
runner::mcp_http_endpoint make_own_endpoint(
    const mcp_server_config& server, const runner::mcp_http_endpoint& common,
    runner::mcp_http_settings settings
) {
    if (!server.callers.are_required()) {
        return common;
    }
    settings.headers = headers_beside(server.callers, server.headers);
    return runner::mcp_http_endpoint::make(std::move(settings)).value();
}

/// The names in pass_headers that no other header of such a session takes precedence over.
std::vector<std::string> passed_headers_of(const mcp_server_config& server) {
    header_list taken = all_headers(server.headers, server.secret_headers);
    if (server.callers.are_required()) {
        taken = server.headers;
        taken.emplace_back(server.callers.as, "");
    }
    std::vector<std::string> names;
    for (const std::string& name : server.pass_headers) {
        if (std::ranges::none_of(taken, [&name](const auto& header) {
                return equal_ignoring_case(header.first, name);
            })) {
            names.push_back(name);
        }
    }
    return names;
}

} // namespace

std::vector<std::string> secrets_of(const model_config& model, const tools_config& tools) {
    std::vector<std::string> secrets{model.api_key.value};
    add_values(secrets, model.headers);
    add_query_values(secrets, model.base_url);
    add_strings(secrets, model.extra_body);
    for (const webhook_config& tool : tools.webhooks) {
        add_values(secrets, tool.headers);
        for (const auto& [header, value] : tool.secret_headers) {
            secrets.push_back(value.value);
        }
        add_query_values(secrets, tool.url);
        add_tokens(secrets, tool.callers);
    }
    for (const mcp_server_config& server : tools.mcp_servers) {
        add_values(secrets, all_headers(server.headers, server.secret_headers));
        add_query_values(secrets, server.url);
        add_values(secrets, server.environment);
        add_tokens(secrets, server.callers);
    }
    return secrets;
}

const runner::tool_registry& add_webhooks(
    runner::tool_registry& registry, const tools_config& tools, const tool_credentials& users,
    logger& log, heavy_work& heavy
) {
    registry.log_to(log);
    for (const webhook_config& tool : tools.webhooks) {
        runner::webhook_settings settings;
        settings.url = tool.url;
        settings.callers = users.of(tool);
        // header_env holds the gateway's own credentials, which never go beside a caller's.
        settings.headers = tool.callers.are_required()
                               ? tool.headers
                               : all_headers(tool.headers, tool.secret_headers);
        settings.method = tool.get ? runner::http_method::get : runner::http_method::post;
        settings.idempotent = tool.idempotent;
        settings.pass_headers = tool.pass_headers;
        settings.timeout = tool.timeout;
        settings.max_result_bytes = tools.max_result_bytes;
        settings.budget = heavy.budget();
        auto function = runner::make_webhook_tool(std::move(settings));
        if (!function) {
            throw std::runtime_error(
                "tools.webhook " + tool.definition.name + ": " + function.error().detail
            );
        }
        registry.add(
            tool.definition, std::move(*function),
            {.approval = tool.approval, .is_foreign = true, .asks_for_input = true}
        );
    }
    return registry;
}

std::vector<runner::mcp_server_settings> make_mcp_servers(
    const tools_config& tools, const tool_credentials& users, logger& log, heavy_work& heavy
) {
    std::vector<runner::mcp_server_settings> servers;
    for (const mcp_server_config& server : tools.mcp_servers) {
        runner::mcp_server_settings& made = servers.emplace_back();
        made.client.server = server.name;
        made.client.client_version = AGUI_VERSION;
        made.client.call_timeout = server.timeout;
        made.client.heavy = &heavy;
        made.approval = server.approval;
        made.digest = server.digest;
        if (server.url.empty()) {
            made.client.connect_timeout = process_start;
            runner::mcp_stdio_settings settings = make_process(server);
            settings.budget = heavy.budget();
            made.channel = [settings = std::move(settings),
                            &log](boost::asio::any_io_executor executor) {
                return runner::make_mcp_stdio_channel(std::move(executor), settings, log);
            };
            continue;
        }
        runner::mcp_http_settings settings;
        settings.url = server.url;
        settings.headers = all_headers(server.headers, server.secret_headers);
        settings.ca_file = server.ca_file;
        settings.budget = heavy.budget();
        auto endpoint = runner::mcp_http_endpoint::make(settings);
        if (!endpoint) {
            throw std::runtime_error("mcp_servers " + server.name + ": " + endpoint.error().detail);
        }
        made.channel = [endpoint = *endpoint](boost::asio::any_io_executor executor) {
            return endpoint.channel(std::move(executor));
        };
        made.callers = users.of(server);
        made.pass_headers = passed_headers_of(server);
        made.own_channel = [endpoint = make_own_endpoint(server, *endpoint, std::move(settings))](
                               boost::asio::any_io_executor executor, header_list own
                           ) {
            return endpoint.channel(std::move(executor), std::move(own));
        };
    }
    return servers;
}

std::vector<std::string> passed_headers(const tools_config& tools) {
    std::set<std::string> names{std::string(runner::trace_header)};
    for (const webhook_config& tool : tools.webhooks) {
        names.insert(tool.pass_headers.begin(), tool.pass_headers.end());
        names.insert(tool.callers.from);
    }
    for (const mcp_server_config& server : tools.mcp_servers) {
        names.insert(server.pass_headers.begin(), server.pass_headers.end());
        names.insert(server.callers.from);
    }
    names.erase("");
    return {names.begin(), names.end()};
}

} // namespace agui::gateway
