#include "gateway/config/config_sections.hpp"
#include "gateway/config/config_values.hpp"
#include "runner/mcp/mcp_tool_list.hpp"

#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

void refuse(
    config_table& table, std::initializer_list<std::string_view> keys, std::string_view why
) {
    for (const std::string_view key : keys) {
        if (table.has(key)) {
            table.problem(key, why);
        }
    }
}

bool is_variable_name(std::string_view name) {
    return is_word(name, "_") && (name.front() < '0' || name.front() > '9');
}

void describe_process(config_table& table, mcp_server_config& server) {
    table.value("command", server.command);
    if (server.command.empty()) {
        table.problem("command", "must not be empty");
    }
    // Masked, because people pass tokens as arguments.
    std::vector<std::string> args(server.args.size(), std::string(masked));
    if (table.value("args", args)) {
        server.args = std::move(args);
    }
    for (const std::string& text : server.args) {
        if (text.find('\0') != std::string::npos) {
            table.problem("args", "holds a NUL character, which no argument can contain");
        }
    }
    if (table.uses(!server.cwd.empty())) {
        table.value("cwd", server.cwd);
    }
    if (!table.value("env_allow", server.env_allow)) {
        return;
    }
    for (const std::string& name : server.env_allow) {
        if (!is_variable_name(name)) {
            table.problem("env_allow", "must hold names of environment variables");
        } else if (const char* const value = std::getenv(name.c_str())) {
            server.environment.emplace_back(name, value);
        }
    }
}

void describe_remote(config_table& table, mcp_server_config& server) {
    // Keeps a trailing slash: without it, some servers redirect.
    exact_url(table, "url", server.url);
    headers_value(table, server.headers);
    secret_headers_value(table, server.secret_headers);
    if (table.uses(!server.ca_file.empty())) {
        table.value("ca_file", server.ca_file);
    }
    passed_headers_value(table, server.pass_headers);
    for (const std::string& name : server.pass_headers) {
        if (name == "accept" || name.starts_with("mcp-")) { // Headers of the protocol itself.
            table.problem("pass_headers", "holds the name of a header that cannot be passed on");
        }
    }
    caller_credentials_value(table, server.callers);
}

void describe_digest(config_table& table, mcp_server_config& server) {
    constexpr std::size_t digits = 64;
    if (!table.uses(!server.digest.empty()) || !table.value("digest", server.digest)) {
        return;
    }
    const bool is_digest = server.digest.size() == digits &&
                           server.digest.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_digest) {
        table.problem(
            "digest", "must have the 64 characters from 0-9 a-f that --print-mcp-tools prints"
        );
    }
}

} // namespace

void describe_mcp_server(config_table& table, mcp_server_config& server) {
    if (!table.value("name", server.name)) {
        table.problem("name", "is missing");
    } else if (!runner::is_mcp_server_name(server.name)) {
        table.problem(
            "name", "must be 1 to 32 characters from A-Z a-z 0-9 _ -, without __ and without _ at "
                    "either end"
        );
    }
    table.time("timeout_seconds", server.timeout, 1, 3600);
    approval_value(table, server.approval);
    describe_digest(table, server);
    if (!table.is_printed() && table.has("url") == table.has("command")) {
        table.problem("url", "either url or command is required, not both");
        for (const std::string_view key :
             {"headers", "header_env", "ca_file", "pass_headers", "user_tokens", "user_token_from",
              "user_token_as", "args", "cwd", "env_allow"}) {
            (void)table.has(key); // Marks the key as known.
        }
        return;
    }
    if (table.has("url") || !server.url.empty()) {
        describe_remote(table, server);
        refuse(table, {"args", "cwd", "env_allow"}, "needs a command");
    } else {
        describe_process(table, server);
        refuse(
            table,
            {"headers", "header_env", "ca_file", "pass_headers", "user_tokens", "user_token_from",
             "user_token_as"},
            "needs a url"
        );
    }
}

} // namespace agui::gateway
