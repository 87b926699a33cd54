#include "gateway/config/config.hpp"
#include "gateway/http/static_files.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

namespace agui::gateway {
namespace {

constexpr std::string_view masked = "***";

template <class Duration>
std::int64_t seconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

std::int64_t number(std::size_t value) { return static_cast<std::int64_t>(value); }

toml::array strings(const std::vector<std::string>& values) {
    toml::array array;
    for (const std::string& value : values) {
        array.push_back(value);
    }
    return array;
}

/// Only the names of headers are shown: values may be secrets.
toml::table header_names(const header_list& headers) {
    toml::table table;
    for (const auto& [name, value] : headers) {
        table.insert(name, masked);
    }
    return table;
}

/// A URL with the values of its query masked: they may be secrets.
std::string url_names(const std::string& url) {
    std::string result = url.substr(0, url.find('?'));
    for (std::size_t at = result.size(); at < url.size();) {
        const std::size_t end = std::min(url.find('&', at + 1), url.size());
        const std::size_t value = url.find('=', at);
        result += value < end ? url.substr(at, value + 1 - at) + std::string(masked)
                              : url.substr(at, end - at);
        at = end;
    }
    return result;
}

void put_secret(toml::table& table, const std::string& prefix, const secret& value) {
    if (!value.environment.empty()) {
        table.insert(prefix + "_env", value.environment);
    }
    if (!value.file.empty()) {
        table.insert(prefix + "_file", value.file);
    }
}

/// Only the names of members are shown, at any depth: values may be secrets.
toml::table member_names(const boost::json::object& object) {
    toml::table table;
    for (const auto& member : object) {
        if (const boost::json::object* inner = member.value().if_object()) {
            table.insert(std::string_view(member.key()), member_names(*inner));
        } else {
            table.insert(std::string_view(member.key()), masked);
        }
    }
    return table;
}

std::string policy_name(const disconnect_policy& policy) {
    switch (policy.what) {
    case disconnect_policy::kind::go_on:
        return "continue";
    case disconnect_policy::kind::cancel:
        return "cancel";
    case disconnect_policy::kind::grace:
        return "grace:" + std::to_string(policy.grace.count());
    }
    return "continue";
}

std::string_view usage_name(translator::translator_settings::usage_detail usage) {
    using detail = translator::translator_settings::usage_detail;
    switch (usage) {
    case detail::full:
        return "full";
    case detail::totals:
        return "totals";
    case detail::off:
        return "off";
    }
    return "full";
}

toml::table server_table(const server_config& server) {
    toml::table table{
        {"listen", server.listen},
        {"threads", static_cast<std::int64_t>(server.threads)},
        {"base_path", server.base_path},
        {"public_url", server.public_url},
        {"static_dir", server.static_dir},
        {"cors_origins", strings(server.cors_origins)},
        {"cors_credentials", server.cors_credentials},
        {"allowed_hosts", strings(effective_hosts(server))},
        {"on_disconnect", policy_name(server.on_disconnect)},
        {"heartbeat_seconds", seconds(server.heartbeat)},
        {"header_seconds", seconds(server.header)},
        {"body_seconds", seconds(server.body)},
        {"run_timeout_seconds", seconds(server.run_timeout)},
        {"drain_seconds", seconds(server.drain)},
        {"detached_seconds", seconds(server.detached)},
        {"max_memory_bytes", number(effective_memory(server))},
        {"trusted_proxies", strings(server.trusted_proxies)},
        {"max_body_bytes", number(server.max_body_bytes)},
        {"max_header_bytes", number(server.max_header_bytes)},
        {"max_connections", number(server.max_connections)},
        {"max_connections_per_address", number(server.max_connections_per_address)},
        {"max_run_bytes", number(server.max_run_bytes)},
        {"max_runs", number(server.max_runs)},
        {"max_detached_runs", number(server.max_detached_runs)},
        {"reader_buffer_bytes", number(server.reader_buffer_bytes)},
        {"max_json_depth", number(server.input.max_json_depth)},
        {"max_messages", number(server.input.max_messages)},
        {"max_parts_per_message", number(server.input.max_parts_per_message)},
        {"max_calls_per_message", number(server.input.max_calls_per_message)},
        {"max_client_tools", number(server.input.max_client_tools)},
        {"max_tool_schema_bytes", number(server.input.max_tool_schema_bytes)},
        {"usage", usage_name(server.usage)},
        {"log_level", to_string(server.log_level)},
    };
    if (!server.static_dir.empty()) {
        table.insert("spa", server.spa);
        table.insert("csp", server.csp.value_or(std::string(default_csp)));
    }
    return table;
}

std::string_view durability_name(session::durability durability) {
    switch (durability) {
    case session::durability::relaxed:
        return "relaxed";
    case session::durability::process:
        return "process";
    case session::durability::power:
        return "power";
    }
    return "process";
}

std::string_view client_history_name(session::client_history history) {
    switch (history) {
    case session::client_history::automatic:
        return "auto";
    case session::client_history::full:
        return "full";
    case session::client_history::delta:
        return "delta";
    }
    return "auto";
}

std::string_view busy_name(busy_policy value) {
    switch (value) {
    case busy_policy::reject:
        return "reject";
    case busy_policy::enqueue:
        return "enqueue";
    case busy_policy::supersede:
        return "supersede";
    }
    return "reject";
}

std::string store_name(const session_config& session) {
    switch (session.store) {
    case session_config::store_kind::memory:
        return "memory:";
    case session_config::store_kind::sqlite:
        return "sqlite:" + session.sqlite_path;
    case session_config::store_kind::postgres:
        return url_names(session.postgres_url);
    }
    return {};
}

toml::table session_table(const session_config& session) {
    const session::history_policy& history = session.history;
    toml::table table{
        {"store", store_name(session)},
        {"history", history.mode == session::history_mode::server ? "server" : "client"},
        {"durability", durability_name(session.durability)},
        {"client_history", client_history_name(history.client_history)},
        {"accept_client_system", history.accept_client_system},
        {"on_busy", busy_name(session.on_busy)},
        {"queue_max", static_cast<std::int64_t>(session.queue_max)},
        {"queue_hold_seconds", seconds(session.queue_hold)},
        {"busy_wait_ms", session.busy_wait.count()},
        {"on_busy_detached", session.supersede_detached ? "supersede" : "reject"},
        {"replay_seconds", seconds(session.replay)},
        {"log_days", static_cast<std::int64_t>(session.log_age.count() / 24)},
        {"link_days", static_cast<std::int64_t>(session.link_age.count() / 24)},
        {"max_thread_bytes", static_cast<std::int64_t>(session.max_thread_bytes)},
        {"log_max_bytes", static_cast<std::int64_t>(session.log_max_bytes)},
    };
    if (session.store == session_config::store_kind::postgres) {
        if (!session.postgres_listen_url.empty()) {
            table.insert("listen", url_names(session.postgres_listen_url));
        }
        put_secret(table, "store_password", session.store_password);
        table.insert("prepared", session.prepared);
        table.insert("store_connections", static_cast<std::int64_t>(session.store_connections));
        table.insert("lease_seconds", seconds(session.lease));
        table.insert("store_wait_seconds", seconds(session.store_wait));
    }
    return table;
}

std::string_view partial_name(session::on_partial value) {
    switch (value) {
    case session::on_partial::automatic:
        return "auto";
    case session::on_partial::wait:
        return "wait";
    case session::on_partial::proceed:
        return "continue";
    case session::on_partial::reject:
        return "reject";
    }
    return "auto";
}

toml::table tool_table(const runner::tool_definition& tool) {
    toml::table table{{"name", tool.name}, {"description", tool.description}};
    if (!tool.parameters.is_null()) {
        table.insert("parameters", boost::json::serialize(tool.parameters));
    }
    return table;
}

/// Header names and the variables that their values come from.
toml::table variable_names(const std::map<std::string, secret>& headers) {
    toml::table table;
    for (const auto& [header, value] : headers) {
        table.insert(header, value.environment);
    }
    return table;
}

toml::table tools_table(const tools_config& tools, const session::history_policy& history) {
    const bool answered = history.on_abandoned == session::on_abandoned::answer;
    toml::table table{
        {"on_name_clash", tools.reject_name_clash ? "reject" : "ignore"},
        {"on_partial", partial_name(history.on_partial)},
        {"on_abandoned", answered ? "answer" : "reject"},
        {"max_result_bytes", number(tools.max_result_bytes)},
    };
    toml::array external;
    for (const external_tool_config& tool : tools.external) {
        toml::table entry = tool_table(tool.definition);
        entry.insert("when", tool.always ? "always" : "advertised");
        external.push_back(std::move(entry));
    }
    toml::array webhooks;
    for (const webhook_config& tool : tools.webhooks) {
        toml::table entry = tool_table(tool.definition);
        entry.insert("url", url_names(tool.url));
        entry.insert("headers", header_names(tool.headers));
        entry.insert("header_env", variable_names(tool.secret_headers));
        entry.insert("method", tool.get ? "GET" : "POST");
        entry.insert("idempotent", tool.idempotent);
        entry.insert("pass_headers", strings(tool.pass_headers));
        entry.insert("timeout_seconds", seconds(tool.timeout));
        webhooks.push_back(std::move(entry));
    }
    table.insert("external", std::move(external));
    table.insert("webhook", std::move(webhooks));
    return table;
}

toml::table mcp_server_table(const mcp_server_config& server) {
    toml::table table{{"name", server.name}, {"timeout_seconds", seconds(server.timeout)}};
    if (!server.url.empty()) {
        table.insert("url", url_names(server.url));
        table.insert("headers", header_names(server.headers));
        table.insert("header_env", variable_names(server.secret_headers));
        table.insert("pass_headers", strings(server.pass_headers));
        if (!server.ca_file.empty()) {
            table.insert("ca_file", server.ca_file);
        }
        return table;
    }
    // Masked: people pass tokens as arguments.
    const std::vector<std::string> args(server.args.size(), std::string(masked));
    table.insert("command", server.command);
    table.insert("args", strings(args));
    table.insert("env_allow", strings(server.env_allow));
    if (!server.cwd.empty()) {
        table.insert("cwd", server.cwd);
    }
    return table;
}

std::string tool_choice_name(const runner::tool_choice& choice) {
    switch (choice.kind) {
    case runner::tool_choice::mode::automatic:
        return "auto";
    case runner::tool_choice::mode::none:
        return "none";
    case runner::tool_choice::mode::required:
        return "required";
    case runner::tool_choice::mode::named:
        return choice.name;
    }
    return "auto";
}

std::string_view provider_name(model_config::provider_kind kind) {
    switch (kind) {
    case model_config::provider_kind::openai:
        return "openai";
    case model_config::provider_kind::scripted:
        return "scripted";
    case model_config::provider_kind::custom:
        return "custom";
    }
    return "openai";
}

std::string_view variant_name(runner::openai_variant variant) noexcept {
    switch (variant) {
    case runner::openai_variant::openai:
        return "openai";
    case runner::openai_variant::deepseek:
        return "deepseek";
    case runner::openai_variant::gemini:
        return "gemini";
    case runner::openai_variant::mistral:
        return "mistral";
    }
    return "openai";
}

toml::table model_table(const model_config& model) {
    const bool scripted = model.provider == model_config::provider_kind::scripted;
    toml::table table{
        {"provider", provider_name(model.provider)},
        {"model", model.parameters.model},
        {"headers", header_names(model.headers)},
        {"media_urls", strings(model.media_urls)},
        {"file_sources", model.file_sources},
        {"merge_roles", model.merge_roles},
        {"variant", variant_name(model.variant)},
        {"reasoning_tags", model.reasoning_tags},
        {"connect_seconds", seconds(model.connect)},
        {"first_byte_seconds", seconds(model.first_byte)},
        {"first_content_seconds", seconds(model.first_content)},
        {"idle_seconds", seconds(model.idle)},
    };
    table.insert(
        scripted ? "script" : "base_url", scripted ? model.script : url_names(model.base_url)
    );
    put_secret(table, "api_key", model.api_key);
    if (!model.ca_file.empty()) {
        table.insert("ca_file", model.ca_file);
    }
    const runner::model_parameters& parameters = model.parameters;
    if (parameters.temperature) {
        table.insert("temperature", *parameters.temperature);
    }
    if (parameters.max_output_tokens) {
        table.insert("max_output_tokens", *parameters.max_output_tokens);
    }
    if (parameters.tool_choice) {
        table.insert("tool_choice", tool_choice_name(*parameters.tool_choice));
    }
    if (parameters.parallel_tool_calls) {
        table.insert("parallel_tool_calls", *parameters.parallel_tool_calls);
    }
    if (parameters.reasoning_effort) {
        table.insert("reasoning_effort", *parameters.reasoning_effort);
    }
    if (!model.extra_body.empty()) {
        table.insert("extra_body", member_names(model.extra_body));
    }
    return table;
}

std::string_view context_name(context_place place) {
    switch (place) {
    case context_place::user:
        return "user";
    case context_place::system:
        return "system";
    case context_place::off:
        return "off";
    }
    return "user";
}

std::string_view loop_action_name(runner::loop_action action) {
    switch (action) {
    case runner::loop_action::go_on:
        return "continue";
    case runner::loop_action::warn:
        return "warn";
    case runner::loop_action::terminate:
        return "terminate";
    }
    return "warn";
}

toml::table agent_table(const agent_config& agent, const session_config& session) {
    return toml::table{
        {"id", agent.id},
        {"models", strings(agent.models)},
        {"instructions", agent.instructions},
        {"prompt_props", strings(agent.prompt_props)},
        {"tools", strings(agent.tools)},
        {"max_rounds", static_cast<std::int64_t>(agent.max_rounds)},
        {"max_parallel_tools", static_cast<std::int64_t>(agent.max_parallel_tools)},
        {"max_calls", static_cast<std::int64_t>(agent.limits.max_calls)},
        {"max_turn_rounds", static_cast<std::int64_t>(agent.limits.max_turn_rounds)},
        {"max_tokens", static_cast<std::int64_t>(agent.limits.max_tokens)},
        {"max_history_messages", static_cast<std::int64_t>(agent.window.max_messages)},
        {"max_history_tokens", static_cast<std::int64_t>(agent.window.max_tokens)},
        {"loop_detection",
         agent.detects_loops ? loop_action_name(agent.limits.on_loop) : std::string_view("off")},
        {"loop_threshold", static_cast<std::int64_t>(agent.limits.loop_threshold)},
        {"overridable", strings(agent.overridable)},
        {"client_history",
         client_history_name(agent.client_history.value_or(session.history.client_history))},
        {"context", context_name(agent.context)},
        {"state", context_name(agent.state)},
        {"reply_format", agent.reply == runner::reply_format::items ? "items" : "text"},
        {"reply_schema", agent.reply_schema},
        {"title", agent.titles ? "first_message" : "off"},
    };
}

} // namespace

std::string print_config(const config& what) {
    toml::table models;
    for (const model_config& model : what.models) {
        models.insert(model.name, model_table(model));
    }
    toml::array agents;
    for (const agent_config& agent : what.agents) {
        agents.push_back(agent_table(agent, what.session));
    }
    toml::array mcp_servers;
    for (const mcp_server_config& server : what.tools.mcp_servers) {
        mcp_servers.push_back(mcp_server_table(server));
    }
    toml::table document{
        {"server", server_table(what.server)},
        {"session", session_table(what.session)},
        {"tools", tools_table(what.tools, what.session.history)},
        {"mcp_servers", std::move(mcp_servers)},
        {"models", std::move(models)},
        {"agents", std::move(agents)},
    };
    if (what.auth) {
        const bool bearer = what.auth->kind == auth_config::mode::bearer;
        toml::table auth{{"mode", bearer ? "bearer" : "none"}};
        put_secret(auth, "token", what.auth->token);
        document.insert("auth", std::move(auth));
    }
    std::ostringstream text;
    text << document << '\n';
    return text.str();
}

} // namespace agui::gateway
