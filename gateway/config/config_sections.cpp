#include "gateway/config/config_sections.hpp"

#include "gateway/http/client_address.hpp"
#include "gateway/http/listener.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace agui::gateway {
namespace {

constexpr std::int64_t day = 86'400;
constexpr std::int64_t gib = 1LL << 30;

bool is_word(std::string_view text, std::string_view besides) {
    return !text.empty() && std::ranges::all_of(text, [besides](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               besides.find(c) != std::string_view::npos;
    });
}

bool is_printable(std::string_view text) {
    return std::ranges::none_of(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    });
}

bool is_origin(std::string_view text) {
    const std::size_t scheme = text.find("://");
    return scheme != std::string_view::npos && scheme > 0 &&
           is_word(text.substr(scheme + 3), "-._~:[]");
}

/// An http(s) URL without userinfo and fragment; a trailing slash of its path is removed.
void read_url(config_reader& table, std::string_view key, std::string& url) {
    if (!table.read(key, url)) {
        return;
    }
    const std::size_t begin = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
    const std::string_view authority =
        std::string_view(url).substr(begin, url.find_first_of("/?", begin) - begin);
    if (begin == 0 || authority.empty() || authority.find('@') != std::string_view::npos ||
        url.find_first_of("# ") != std::string::npos || !is_printable(url)) {
        table.problem(key, "must be an http:// or https:// URL without user and fragment");
        return;
    }
    std::string rest;
    if (const std::size_t mark = url.find('?'); mark != std::string::npos) {
        rest = url.substr(mark);
        url.resize(mark);
    }
    while (url.ends_with('/')) {
        url.pop_back();
    }
    url += rest;
}

void read_headers(config_reader& table, header_list& headers) {
    std::map<std::string, std::string> found;
    table.read("headers", found);
    for (auto& [name, value] : found) {
        if (!is_word(name, "-_") || !is_printable(value)) {
            table.problem("headers", "holds a name or value that no HTTP header can have");
        }
        headers.emplace_back(name, std::move(value));
    }
}

// A space around a secret is a slip of whoever stored it: HTTP drops it, and nothing would match.
bool has_spaces_around(std::string_view text) {
    return text.starts_with(' ') || text.ends_with(' ') || text.starts_with('\t') ||
           text.ends_with('\t');
}

secret from_environment(config_reader& table, std::string_view key, const std::string& name) {
    secret found;
    found.environment = name;
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0' || !is_printable(value)) {
        table.problem(key, "the environment variable " + name + " is not set");
    } else if (has_spaces_around(value)) {
        table.problem(key, "the environment variable " + name + " has spaces around its value");
    } else {
        found.value = value;
    }
    return found;
}

void read_definition(config_reader& table, runner::tool_definition& definition) {
    if (!table.read("name", definition.name)) {
        table.problem("name", "is missing");
    } else if (!is_word(definition.name, "_.-") || definition.name.size() > 128 ||
               definition.name.starts_with("mcp__")) {
        table.problem("name", "must be 1 to 128 of A-Z a-z 0-9 _ . - and not begin with mcp__");
    }
    table.read("description", definition.description);
    std::string text;
    if (table.has("parameters") && table.read("parameters", text)) {
        boost::system::error_code ec;
        definition.parameters = boost::json::parse(text, ec);
        if (ec || !definition.parameters.is_object()) {
            table.problem("parameters", "must be the text of a JSON object (a JSON Schema)");
        }
    }
}

void read_external(config_reader table, tools_config& tools) {
    external_tool_config tool;
    read_definition(table, tool.definition);
    table.read_choice("when", tool.always, {{"always", true}, {"advertised", false}});
    table.report_unknown();
    tools.external.push_back(std::move(tool));
}

void read_webhook(config_reader table, tools_config& tools) {
    webhook_config tool;
    read_definition(table, tool.definition);
    read_url(table, "url", tool.url);
    if (!table.has("url")) {
        table.problem("url", "is missing");
    }
    read_headers(table, tool.headers);
    std::map<std::string, std::string> names;
    table.read("header_env", names);
    for (const auto& [header, variable] : names) {
        if (!is_word(header, "-_")) {
            table.problem("header_env", "holds a name that no HTTP header can have");
        }
        tool.secret_headers[header] = from_environment(table, "header_env", variable);
    }
    table.read_seconds("timeout_seconds", tool.timeout, 1, 3600);
    bool idempotent = false;
    if (table.read("idempotent", idempotent) && idempotent) {
        table.problem("idempotent", "not supported by this version");
    }
    table.report_unknown();
    tools.webhooks.push_back(std::move(tool));
}

void read_limits(config_reader& table, server_config& server) {
    table.read_number("max_body_bytes", server.max_body_bytes, 1024, gib);
    table.read_number("max_memory_bytes", server.max_memory_bytes, 1 << 20, std::int64_t{1} << 50);
    table.read_number("max_header_bytes", server.max_header_bytes, 1024, 1 << 20);
    table.read_number("max_connections", server.max_connections, 1, 1'000'000);
    table.read_number("max_runs", server.max_runs, 1, 1'000'000);
    table.read_number("max_run_bytes", server.max_run_bytes, 65'536, gib);
    table.read_number("max_detached_runs", server.max_detached_runs, 0, 1'000'000);
    table.read_number("reader_buffer_bytes", server.reader_buffer_bytes, 1024, gib);
    table.read_number("max_json_depth", server.input.max_json_depth, 4, 1024);
    table.read_number("max_messages", server.input.max_messages, 1, 10'000'000);
    table.read_number("max_parts_per_message", server.input.max_parts_per_message, 1, 10'000'000);
    table.read_number("max_calls_per_message", server.input.max_calls_per_message, 1, 10'000'000);
    table.read_number("max_client_tools", server.input.max_client_tools, 0, 100'000);
    table.read_number("max_tool_schema_bytes", server.input.max_tool_schema_bytes, 2, gib);
    table.read_seconds("header_seconds", server.header, 1, day);
    table.read_seconds("body_seconds", server.body, 1, day);
    table.read_seconds("heartbeat_seconds", server.heartbeat, 1, day);
    table.read_seconds("run_timeout_seconds", server.run_timeout, 1, 365 * day);
    table.read_seconds("drain_seconds", server.drain, 0, day);
    table.read_seconds("detached_seconds", server.detached, 0, 365 * day);
}

} // namespace

void read_server(config_reader& table, server_config& server) {
    if (table.read("listen", server.listen)) {
        try {
            (void)parse_endpoint(server.listen);
        } catch (const std::invalid_argument& error) {
            table.problem("listen", error.what());
        }
    }
    table.read_number("threads", server.threads, 0, 256);
    if (table.read("base_path", server.base_path) && !server.base_path.empty() &&
        (server.base_path.front() != '/' || server.base_path.ends_with('/') ||
         !is_word(server.base_path, "/-._~"))) {
        table.problem("base_path", "must be empty or a path like \"/chat\", without a final '/'");
    }
    if (table.read("static_dir", server.static_dir) && !server.static_dir.empty() &&
        !std::filesystem::is_directory(server.static_dir)) {
        table.problem("static_dir", "must be an existing folder");
    }
    table.read("spa", server.spa);
    std::string policy_text;
    if (table.read("csp", policy_text)) {
        server.csp = policy_text;
        if (!is_printable(policy_text)) {
            table.problem("csp", "must be one line");
        }
    }
    for (const char* key : {"spa", "csp"}) {
        if (table.has(key) && server.static_dir.empty()) {
            table.problem(key, "is for the files of static_dir, which is not set");
        }
    }
    table.read("cors_origins", server.cors_origins);
    if (table.read("cors_credentials", server.cors_credentials) && server.cors_credentials &&
        server.cors_origins.empty()) {
        table.problem("cors_credentials", "is for the origins of cors_origins, which holds none");
    }
    if (!std::ranges::all_of(server.cors_origins, is_origin)) {
        table.problem("cors_origins", "must hold exact origins like \"https://app.example\"");
    }
    table.read("allowed_hosts", server.allowed_hosts);
    if (!std::ranges::all_of(server.allowed_hosts, [](const std::string& host) {
            return is_word(host, "-._~:[]");
        })) {
        table.problem("allowed_hosts", "must hold host names like \"app.example\"");
    }
    table.read("trusted_proxies", server.trusted_proxies);
    if (!std::ranges::all_of(server.trusted_proxies, [](const std::string& proxy) {
            return network::parse(proxy).has_value();
        })) {
        table.problem("trusted_proxies", "must hold addresses or networks like \"10.0.0.0/8\"");
    }
    std::string policy;
    if (table.read("on_disconnect", policy)) {
        const auto parsed = disconnect_policy_from_string(policy);
        if (parsed) {
            server.on_disconnect = *parsed;
        } else {
            table.problem("on_disconnect", "must be \"continue\", \"cancel\" or \"grace:SECONDS\"");
        }
    }
    read_limits(table, server);
    using usage = translator::translator_settings::usage_detail;
    table.read_choice(
        "usage", server.usage,
        {{"full", usage::full}, {"totals", usage::totals}, {"off", usage::off}}
    );
    table.read_choice(
        "log_level", server.log_level,
        {{"debug", log_level::debug},
         {"info", log_level::info},
         {"warning", log_level::warning},
         {"error", log_level::error}}
    );
}

void read_auth(config_reader& table, auth_config& auth) {
    using mode = auth_config::mode;
    if (!table.has("mode")) {
        table.problem("mode", "is missing: \"bearer\" or \"none\"");
    }
    table.read_choice("mode", auth.kind, {{"bearer", mode::bearer}, {"none", mode::none}});
    read_secret(table, "token", auth.token);
    const bool named = table.has("token_env") || table.has("token_file");
    if (auth.kind == mode::bearer && !named) {
        table.problem("token_env", "is missing: the variable that holds the token");
    }
    if (auth.kind == mode::none && named) {
        table.problem("mode", "\"none\" takes no token");
    }
}

void read_session(config_reader& table, session_config& session) {
    std::string store;
    if (table.read("store", store)) {
        if (store == "memory:") {
            session.store = session_config::store_kind::memory;
        } else if (store.starts_with("sqlite:") && store.size() > 7) {
            session.sqlite_path = store.substr(7);
        } else if (store.starts_with("postgres://") || store.starts_with("postgresql://")) {
            table.problem("store", "postgres is not supported by this version");
        } else {
            table.problem("store", "must be \"memory:\" or \"sqlite:PATH\"");
        }
    }
    using session::client_history;
    using session::durability;
    using session::history_mode;
    table.read_choice(
        "history", session.history.mode,
        {{"server", history_mode::server}, {"client", history_mode::client}}
    );
    table.read_choice(
        "durability", session.durability,
        {{"process", durability::process},
         {"power", durability::power},
         {"relaxed", durability::relaxed}}
    );
    table.read_choice(
        "client_history", session.history.client_history,
        {{"auto", client_history::automatic},
         {"full", client_history::full},
         {"delta", client_history::delta}}
    );
    table.read("accept_client_system", session.history.accept_client_system);
    bool supported = true;
    table.read_choice(
        "on_busy", supported, {{"reject", true}, {"enqueue", false}, {"supersede", false}}
    );
    if (!supported) {
        table.problem("on_busy", "only \"reject\" is supported by this version");
    }
    table.read_choice(
        "on_busy_detached", session.supersede_detached, {{"supersede", true}, {"reject", false}}
    );
    std::int64_t wait = 0;
    if (table.read_number("busy_wait_ms", wait, 0, 60'000)) {
        session.busy_wait = std::chrono::milliseconds(wait);
    }
    table.read_seconds("replay_seconds", session.replay, 0, 365 * day);
    std::int64_t days = 0;
    if (table.read_number("log_days", days, 1, 36'500)) {
        session.log_age = std::chrono::hours(24 * days);
    }
    table.read_number("max_thread_bytes", session.max_thread_bytes, 65'536, std::int64_t{1} << 40);
    table.read_number("log_max_bytes", session.log_max_bytes, 0, std::int64_t{1} << 50);
    table.unsupported("lease_seconds");
}

void read_tools(config_reader& table, tools_config& tools, session::history_policy& history) {
    using session::on_abandoned;
    using session::on_partial;
    table.read_choice(
        "on_name_clash", tools.reject_name_clash, {{"ignore", false}, {"reject", true}}
    );
    table.read_choice(
        "on_partial", history.on_partial,
        {{"auto", on_partial::automatic},
         {"wait", on_partial::wait},
         {"continue", on_partial::proceed},
         {"reject", on_partial::reject}}
    );
    table.read_choice(
        "on_abandoned", history.on_abandoned,
        {{"answer", on_abandoned::answer}, {"reject", on_abandoned::reject}}
    );
    table.read_number("max_result_bytes", tools.max_result_bytes, 1024, gib);
    for (const toml::table* entry : table.tables("external")) {
        read_external(table.sub(*entry, "external"), tools);
    }
    for (const toml::table* entry : table.tables("webhook")) {
        read_webhook(table.sub(*entry, "webhook"), tools);
    }
}

void read_model(config_reader& table, model_config& model) {
    using kind = model_config::provider_kind;
    std::string provider;
    if (!table.read("provider", provider)) {
        table.problem("provider", "is missing");
    } else if (provider == "scripted") {
        model.provider = kind::scripted;
    } else if (provider == "anthropic" || provider == "agui") {
        table.problem("provider", "\"" + provider + "\" is not supported by this version");
    } else if (provider != "openai") {
        table.problem("provider", "must be one of \"openai\", \"scripted\"");
    }
    read_url(table, "base_url", model.base_url);
    table.read("script", model.script);
    if (provider == "openai" && model.base_url.empty() && !table.has("base_url")) {
        table.problem("base_url", "is missing");
    }
    if (provider == "scripted" && model.script.empty()) {
        table.problem("script", "is missing: a file or folder to play");
    }
    if (provider == "openai" && table.has("script")) {
        table.problem("script", "is for provider = \"scripted\"");
    }
    if (table.has("model")) {
        table.read("model", model.parameters.model);
    } else if (provider == "openai") {
        table.problem("model", "is missing");
    }
    read_secret(table, "api_key", model.api_key);
    read_headers(table, model.headers);
    table.read("ca_file", model.ca_file);

    double temperature = 0;
    if (table.read("temperature", temperature, 0, 2)) {
        model.parameters.temperature = temperature;
    }
    std::int64_t tokens = 0;
    if (table.read_number("max_output_tokens", tokens, 1, 1'000'000'000)) {
        model.parameters.max_output_tokens = tokens;
    }
    std::string text;
    if (table.read("tool_choice", text)) {
        model.parameters.tool_choice = runner::tool_choice_from_string(text);
    }
    bool flag = false;
    if (table.read("parallel_tool_calls", flag)) {
        model.parameters.parallel_tool_calls = flag;
    }
    if (table.read("reasoning_effort", text)) {
        model.parameters.reasoning_effort = text;
    }
    if (const auto extra = table.json("extra_body")) {
        model.extra_body = extra->as_object();
    }
    table.read("media_urls", model.media_urls);
    table.read("file_sources", model.file_sources);
    table.read("merge_roles", model.merge_roles);
    table.read_seconds("connect_seconds", model.connect, 1, 3600);
    table.read_seconds("first_byte_seconds", model.first_byte, 1, day);
    table.read_seconds("idle_seconds", model.idle, 1, day);
}

void read_agent(config_reader& table, agent_config& agent) {
    if (!table.read("id", agent.id) || !is_word(agent.id, "_.-")) {
        table.problem("id", "must be one or more of A-Z a-z 0-9 _ . -");
    }
    std::vector<std::string> models;
    table.read("models", models);
    if (models.empty()) {
        table.problem("models", "must name a model of this configuration");
    } else {
        agent.model = models.front();
    }
    if (models.size() > 1) {
        table.problem("models", "more than one model is not supported by this version");
    }
    table.read("instructions", agent.instructions);
    std::string file;
    if (table.read("instructions_file", file)) {
        std::ifstream stream(file, std::ios::binary);
        if (table.has("instructions")) {
            table.problem("instructions_file", "excludes instructions");
        } else if (!stream) {
            table.problem("instructions_file", "cannot be read");
        }
        agent.instructions.assign(std::istreambuf_iterator<char>(stream), {});
    }
    table.read("tools", agent.tools);
    table.read_number("max_rounds", agent.max_rounds, 1, 10'000);
    table.read_number("max_parallel_tools", agent.max_parallel_tools, 1, 1000);
    table.read("overridable", agent.overridable);
    if (table.has("client_history")) {
        using session::client_history;
        table.read_choice(
            "client_history", agent.client_history.emplace(),
            {{"auto", client_history::automatic},
             {"full", client_history::full},
             {"delta", client_history::delta}}
        );
    }
    table.read_choice(
        "context", agent.context,
        {{"user", context_place::user},
         {"system", context_place::system},
         {"off", context_place::off}}
    );
    table.read_choice("title", agent.titles, {{"first_message", true}, {"off", false}});
    static constexpr std::string_view settable[] = {
        "model", "temperature", "max_output_tokens", "tool_choice", "reasoning_effort"
    };
    for (const std::string& name : agent.overridable) {
        if (std::ranges::find(settable, name) == std::end(settable)) {
            table.problem("overridable", "holds \"" + name + "\", which no request can set");
        }
    }
    bool supported = true;
    table.read_choice(
        "loop_detection", supported,
        {{"off", true}, {"warn", false}, {"continue", false}, {"terminate", false}}
    );
    if (!supported) {
        table.problem("loop_detection", "only \"off\" is supported by this version");
    }
    table.unsupported("loop_threshold");
    table.unsupported("max_history_messages");
    table.unsupported("max_history_tokens");
}

void read_secret(config_reader& table, const std::string& prefix, secret& value) {
    const std::string env_key = prefix + "_env";
    const std::string file_key = prefix + "_file";
    std::string name;
    if (table.read(env_key, name)) {
        value = from_environment(table, env_key, name);
    }
    std::string path;
    if (!table.read(file_key, path)) {
        return;
    }
    if (!name.empty()) {
        table.problem(file_key, "excludes " + env_key);
        return;
    }
    std::ifstream stream(path, std::ios::binary);
    value.file = path;
    value.value.assign(std::istreambuf_iterator<char>(stream), {});
    while (!value.value.empty() && (value.value.back() == '\n' || value.value.back() == '\r')) {
        value.value.pop_back();
    }
    if (value.value.empty() || !is_printable(value.value)) {
        table.problem(file_key, "must be a readable file that holds one line");
    } else if (has_spaces_around(value.value)) {
        table.problem(file_key, "the file has spaces around its value");
    }
}

} // namespace agui::gateway
