#include "gateway/config/config_sections.hpp"

#include "gateway/config/config_values.hpp"
#include "gateway/http/client_address.hpp"
#include "gateway/http/listener.hpp"
#include "gateway/http/static_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace agui::gateway {
namespace {

/// Limit of Linux for the path of a Unix socket (sockaddr_un::sun_path, with its end).
constexpr std::size_t socket_path_bytes_max = 107;

bool is_origin(std::string_view text) {
    const std::size_t scheme = text.find("://");
    return scheme != std::string_view::npos && scheme > 0 &&
           is_word(text.substr(scheme + 3), "-._~:[]");
}

/// A URL that paths can be appended to.
bool is_http_url(std::string_view text) {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (text.starts_with(scheme)) {
            const std::string_view rest = text.substr(scheme.size());
            return is_word(rest, "-._~:[]/%") && !rest.starts_with('/') && !rest.ends_with('/');
        }
    }
    return false;
}

void describe_limits(config_table& table, server_config& server) {
    table.number("max_body_bytes", server.max_body_bytes, 1024, gib);
    table.number("max_memory_bytes", server.max_memory_bytes, 1 << 20, std::int64_t{1} << 50);
    table.number("max_header_bytes", server.max_header_bytes, 1024, 1 << 20);
    table.number("max_connections", server.max_connections, 1, 1'000'000);
    table.number("max_connections_per_address", server.max_connections_per_address, 0, 1'000'000);
    table.number("max_runs", server.max_runs, 1, 1'000'000);
    table.number("max_run_bytes", server.max_run_bytes, 65'536, gib);
    table.number("max_detached_runs", server.max_detached_runs, 0, 1'000'000);
    table.number("reader_buffer_bytes", server.reader_buffer_bytes, 1024, gib);
    table.number("max_json_depth", server.input.max_json_depth, 4, 1024);
    table.number("max_messages", server.input.max_messages, 1, 10'000'000);
    table.number("max_parts_per_message", server.input.max_parts_per_message, 1, 10'000'000);
    table.number("max_calls_per_message", server.input.max_calls_per_message, 1, 10'000'000);
    table.number("max_client_tools", server.input.max_client_tools, 0, 100'000);
    table.number("max_tool_schema_bytes", server.input.max_tool_schema_bytes, 2, gib);
    table.time("header_seconds", server.header, 1, day);
    table.time("body_seconds", server.body, 1, day);
    table.time("heartbeat_seconds", server.heartbeat, 1, day);
    table.time("run_timeout_seconds", server.run_timeout, 1, 365 * day);
    table.time("drain_seconds", server.drain, 0, day);
    table.time("detached_seconds", server.detached, 0, 365 * day);
}

void describe_static_files(config_table& table, server_config& server) {
    table.value("spa", server.spa);
    std::string csp = server.csp.value_or(std::string(default_csp));
    if (table.value("csp", csp)) {
        server.csp = csp;
        if (!is_printable(csp)) {
            table.problem("csp", "must be one line");
        }
    }
    for (const char* key : {"spa", "csp"}) {
        if (table.has(key) && server.static_dir.empty()) {
            table.problem(key, "needs static_dir");
        }
    }
}

bool is_base_path(std::string_view path) {
    return path.empty() || (path.front() == '/' && !path.ends_with('/') && is_word(path, "/-._~"));
}

/// True for a path of the gateway's other routes, or one below.
bool is_own_path(std::string_view path) {
    constexpr std::array<std::string_view, 7> own{"/agui",    "/chat", "/healthz", "/readyz",
                                                  "/version", "/peer", "/console"};
    const std::string_view first = path.substr(0, path.find('/', path.empty() ? 0 : 1));
    return std::ranges::find(own, first) != own.end();
}

/// Reads the path of routes for the clients of another server.
void read_own_path(
    config_table& table, std::string_view key, std::string_view example, std::string& path
) {
    if (table.value(key, path) && (!is_base_path(path) || is_own_path(path))) {
        table.problem(
            key, "must be empty or a path like \"" + std::string(example) +
                     "\", without a final '/', and none of the gateway's own"
        );
    }
}

} // namespace

void describe_server(config_table& table, server_config& server) {
    if (table.value("listen", server.listen)) {
        try {
            (void)parse_endpoint(server.listen);
        } catch (const std::invalid_argument& error) {
            table.problem("listen", error.what());
        }
    }
    table.number("threads", server.threads, 0, 256);
    if (table.value("base_path", server.base_path) && !is_base_path(server.base_path)) {
        table.problem("base_path", "must be empty or a path like \"/chat\", without a final '/'");
    }
    read_own_path(table, "copilotkit_path", "/copilotkit", server.copilotkit_path);
    read_own_path(table, "ai_path", "/ai", server.ai_path);
    if (!server.ai_path.empty() && server.ai_path == server.copilotkit_path) {
        table.problem("ai_path", "must differ from copilotkit_path");
    }
    table.value("console", server.console);
    if (table.value("public_url", server.public_url) && !server.public_url.empty() &&
        !is_http_url(server.public_url)) {
        table.problem(
            "public_url", "must be like \"https://app.example/chat\", without a final '/'"
        );
    }
    if (table.value("peer_url", server.peer_url) && !server.peer_url.empty() &&
        !is_http_url(server.peer_url)) {
        table.problem("peer_url", "must be like \"http://10.0.0.3:8080\", without a final '/'");
    }
    table.value("peer_ca_file", server.peer_ca_file);
    if (table.value("control_socket", server.control_socket) && !server.control_socket.empty()) {
        const std::string& path = server.control_socket;
        if (!path.starts_with('/') || path.ends_with('/') || path.size() > socket_path_bytes_max) {
            table.problem("control_socket", "must be an absolute path of at most 107 bytes");
        }
    }
    if (table.value("static_dir", server.static_dir) && !server.static_dir.empty() &&
        !std::filesystem::is_directory(server.static_dir)) {
        table.problem("static_dir", "must be an existing folder");
    }
    if (table.uses(!server.static_dir.empty())) {
        describe_static_files(table, server);
    }
    table.value("cors_origins", server.cors_origins);
    if (table.value("cors_credentials", server.cors_credentials) && server.cors_credentials &&
        server.cors_origins.empty()) {
        table.problem("cors_credentials", "needs at least one origin in cors_origins");
    }
    if (!std::ranges::all_of(server.cors_origins, is_origin)) {
        table.problem("cors_origins", "must hold exact origins like \"https://app.example\"");
    }
    table.value("allowed_hosts", server.allowed_hosts);
    if (!std::ranges::all_of(server.allowed_hosts, [](const std::string& host) {
            return is_word(host, "-._~:[]");
        })) {
        table.problem("allowed_hosts", "must hold host names like \"app.example\"");
    }
    table.value("trusted_proxies", server.trusted_proxies);
    if (!std::ranges::all_of(server.trusted_proxies, [](const std::string& proxy) {
            return network::parse(proxy).has_value();
        })) {
        table.problem("trusted_proxies", "must hold addresses or networks like \"10.0.0.0/8\"");
    }
    std::string policy = to_string(server.on_disconnect);
    if (table.value("on_disconnect", policy)) {
        const auto parsed = disconnect_policy_from_string(policy);
        if (parsed) {
            server.on_disconnect = *parsed;
        } else {
            table.problem("on_disconnect", "must be \"continue\", \"cancel\" or \"grace:SECONDS\"");
        }
    }
    describe_limits(table, server);
    using usage = translator::translator_settings::usage_detail;
    table.choice(
        "usage", server.usage,
        {{"full", usage::full}, {"totals", usage::totals}, {"off", usage::off}}
    );
    table.choice(
        "log_level", server.log_level,
        {{"debug", log_level::debug},
         {"info", log_level::info},
         {"warning", log_level::warning},
         {"error", log_level::error}}
    );
}

} // namespace agui::gateway
