#include "gateway/server_parts.hpp"

#include "gateway/agents_own_tools.hpp"
#include "gateway/base/warned_names.hpp"
#include "gateway/http/query.hpp"
#include "runner/anthropic/anthropic_dialect.hpp"
#include "runner/anthropic/anthropic_rules.hpp"
#include "runner/base/model_circuit.hpp"
#include "runner/http/http_transport.hpp"
#include "runner/mcp/mcp_http_channel.hpp"
#include "runner/mcp/mcp_stdio_channel.hpp"
#include "runner/openai/openai_dialect.hpp"
#include "runner/provider/http_provider.hpp"
#include "runner/responses/responses_dialect.hpp"
#include "runner/tools/webhook_tool.hpp"
#include "session/base/ascii.hpp"
#include "session/base/clock.hpp"
#include "session/base/sha256_text.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace agui::gateway {
namespace {

std::shared_ptr<runner::http_client> make_client(
    const model_config& model, const runner::model_dialect& dialect, const server_options& options,
    heavy_work* heavy
) {
    if (model.provider == model_config::provider_kind::scripted) {
        if (!options.script_of) {
            throw std::runtime_error(
                "models." + model.name + ".script: this program does not play scripts"
            );
        }
        return runner::make_scripted_client(options.script_of(model));
    }
    runner::http_endpoint endpoint;
    endpoint.base_url = model.base_url;
    endpoint.headers = model.headers;
    if (!model.api_key.value.empty()) {
        // After the configured headers: of two headers with one name, the transport uses the first.
        endpoint.headers.push_back(dialect.key_header(model.api_key.value));
    }
    endpoint.connect_timeout = model.connect;
    endpoint.first_byte_timeout = model.first_byte;
    endpoint.idle_timeout = model.idle;
    endpoint.ca_file = model.ca_file;
    endpoint.budget = budget_of(heavy);
    auto transport = runner::make_http_client(std::move(endpoint));
    if (!transport) {
        throw std::runtime_error("models." + model.name + ".base_url: " + transport.error().detail);
    }
    return std::move(*transport);
}

/// Warns of settings that a dialect leaves out of requests.
std::function<void(std::string_view, std::string_view)>
warning_of(const model_config& model, logger& log) {
    return
        [&log, name = model.name,
         told = std::make_shared<warned_names>()](std::string_view id, std::string_view setting) {
            if (told->due(setting, id, std::chrono::steady_clock::now())) {
                log.log(
                    log_level::warning,
                    "a setting of a request was left out because the model refuses it",
                    {{"model", name}, {"setting", setting}}
                );
            }
        };
}

std::unique_ptr<runner::model_dialect>
make_messages_dialect(const model_config& model, logger& log) {
    runner::anthropic_settings settings = anthropic_settings_of(model);
    settings.on_left_out = warning_of(model, log);
    return runner::make_anthropic_dialect(std::move(settings));
}

std::unique_ptr<runner::model_dialect> make_dialect(const model_config& model, logger& log) {
    // load_config() has checked it; a program that fills in a config itself has not.
    for (const runner::anthropic_refusal& each : refusals_of(model, model.parameters)) {
        throw std::runtime_error("models." + model.name + "." + each.setting + ": " + each.why);
    }
    const model_config::provider_kind dialect = dialect_of(model);
    if (dialect == model_config::provider_kind::anthropic) {
        return make_messages_dialect(model, log);
    }
    if (dialect == model_config::provider_kind::responses) {
        runner::responses_settings settings;
        settings.extra_body = model.extra_body;
        settings.media_urls = model.media_urls;
        settings.file_sources = model.file_sources;
        settings.summary = model.reasoning_summary;
        settings.encrypted_reasoning = model.encrypted_reasoning;
        settings.drop = model.drop;
        settings.on_left_out = warning_of(model, log);
        return runner::make_responses_dialect(std::move(settings));
    }
    runner::openai_settings settings;
    settings.extra_body = model.extra_body;
    settings.media_urls = model.media_urls;
    settings.file_sources = model.file_sources;
    settings.merge_roles = model.merge_roles;
    settings.variant = model.variant;
    settings.reasoning_tags = model.reasoning_tags;
    return runner::make_openai_dialect(std::move(settings));
}

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

const model_config& find_model(const config& all, const std::string& name) {
    const auto found = std::ranges::find(all.models, name, &model_config::name);
    if (found == all.models.end()) {
        throw std::runtime_error("agents.models: there is no [models." + name + "]");
    }
    return *found;
}

session::prompt_template make_prompt(const agent_config& agent) {
    auto made = session::prompt_template::parse(agent.instructions, agent.prompt_props);
    if (!made) { // load_config() has checked it; a program may have changed it.
        throw std::runtime_error("agents.instructions: " + made.error().detail);
    }
    return std::move(*made);
}

std::string prompt_source_of(const agent_config& agent) {
    constexpr std::size_t digits = 16;
    std::string text;
    for (const int setting :
         {static_cast<int>(agent.context), static_cast<int>(agent.state),
          static_cast<int>(agent.instructions_refresh)}) {
        text.append(std::to_string(setting)).append(" ");
    }
    return sha256_text(text + agent.instructions).substr(0, digits);
}

agent_entry
make_agent(const config& all, const agent_config& agent, const provider_map& providers) {
    agent_entry entry;
    entry.settings.id = agent.id;
    entry.prompt = make_prompt(agent);
    if (entry.prompt.constant()) {
        entry.settings.instructions = entry.prompt.render({});
    }
    entry.settings.tool_patterns = agent.tools;
    entry.settings.approval = agent.approval;
    entry.settings.max_rounds = agent.max_rounds;
    entry.settings.max_parallel_tools = agent.max_parallel_tools;
    entry.settings.limits = agent.limits;
    entry.settings.window = agent.window;
    entry.settings.reply = agent.reply;
    if (!agent.detects_loops) {
        entry.settings.limits.loop_threshold = 0;
    }
    entry.settings.parameters = parameters_of(agent, find_model(all, agent.models.front()));
    entry.model = providers.at(agent.models.front()).get();
    for (std::size_t i = 1; i < agent.models.size(); ++i) {
        const model_config& model = find_model(all, agent.models[i]);
        entry.fallbacks.push_back({providers.at(model.name).get(), parameters_of(agent, model)});
    }
    entry.overridable.insert(agent.overridable.begin(), agent.overridable.end());
    entry.client_history = agent.client_history;
    entry.context = agent.context;
    entry.state = agent.state;
    entry.predictions = agent.predictions;
    entry.legacy_interrupts = agent.legacy_interrupts;
    bool binds_tools = false;
    for (const std::string& name : agent.models) {
        if (const auto& provider = providers.at(name)) { // Null where only settings are made.
            binds_tools = binds_tools || provider->binds_tools();
            entry.adds_tools = entry.adds_tools || provider->adds_tools();
        }
    }
    entry.tool_list = agent.tool_list.value_or(binds_tools ? tool_list::append : tool_list::exact);
    entry.refresh = agent.instructions_refresh;
    entry.prompt_source = prompt_source_of(agent);
    entry.checks_prefix =
        agent.prefix_check && all.session.history.mode == session::history_mode::server;
    entry.titles = agent.titles;
    for (const model_config& model : all.models) {
        entry.models[model.name] = {providers.at(model.name).get(), parameters_of(agent, model)};
    }
    return entry;
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
    }
    for (const mcp_server_config& server : tools.mcp_servers) {
        add_values(secrets, all_headers(server.headers, server.secret_headers));
        add_query_values(secrets, server.url);
        add_values(secrets, server.environment);
    }
    return secrets;
}

std::unique_ptr<session::store>
make_store(const session_config& session, logger& log, memory_budget* memory) {
    if (session.store == session_config::store_kind::memory) {
        return session::make_memory_store();
    }
    if (session.store == session_config::store_kind::postgres) {
        session::postgres_settings settings;
        settings.url = session.postgres_url;
        settings.password = session.store_password.value;
        settings.pool = session.store_connections;
        settings.prepared = session.prepared;
        settings.batch = session.batch;
        settings.durability = session.durability;
        settings.lease = session.lease;
        settings.store_wait = session.store_wait;
        settings.logger = &log;
        settings.memory = memory;
        return session::make_postgres_store(settings);
    }
    session::sqlite_settings settings;
    settings.path = session.sqlite_path;
    settings.durability = session.durability;
    settings.logger = &log;
    settings.memory = memory;
    return session::make_sqlite_store(settings);
}

// The names of the server and of the key's place: a key that is replaced there stays the account's.
std::string account_of(const model_config& model) {
    constexpr std::size_t digits = 16;
    const std::string& key =
        model.api_key.environment.empty() ? model.api_key.file : model.api_key.environment;
    return sha256_text(model.base_url + "\n" + key).substr(0, digits);
}

std::unique_ptr<runner::model_provider> make_provider(
    const config& all, const model_config& model, const server_options& options, logger& log,
    heavy_work* heavy
) {
    if (model.provider == model_config::provider_kind::custom) {
        auto own = options.provider_of ? options.provider_of(model) : nullptr;
        if (!own) {
            throw std::runtime_error(
                "models." + model.name + ".provider: this program has no provider of its own"
            );
        }
        return own;
    }
    runner::http_provider_settings settings;
    settings.name = model.name;
    settings.account = account_of(model);
    settings.secrets = secrets_of(model, all.tools);
    settings.first_content = model.first_content;
    settings.heavy = heavy;
    auto dialect = make_dialect(model, log);
    auto client = make_client(model, *dialect, options, heavy);
    return runner::make_http_provider(std::move(client), std::move(dialect), std::move(settings));
}

provider_map
make_providers(const config& all, const server_options& options, logger& log, heavy_work* heavy) {
    provider_map providers;
    for (const model_config& model : all.models) {
        runner::model_circuit::settings circuit = model.circuit;
        circuit.model = model.name;
        providers[model.name] = std::make_unique<replaceable_provider>(
            make_provider(all, model, options, log, heavy),
            std::make_shared<runner::model_circuit>(std::move(circuit), system_clock(), log)
        );
    }
    return providers;
}

boost::json::object circuits_of(const provider_map& providers) {
    boost::json::object models;
    for (const auto& [name, provider] : providers) {
        const runner::model_circuit::status status = provider->circuit()->now();
        models[name] = {{"circuit", to_string(status.now)}, {"failures", status.failures}};
    }
    return models;
}

const runner::tool_registry& add_webhooks(
    runner::tool_registry& registry, const tools_config& tools, logger& log, heavy_work& heavy
) {
    registry.log_to(log);
    for (const webhook_config& tool : tools.webhooks) {
        runner::webhook_settings settings;
        settings.url = tool.url;
        settings.headers = all_headers(tool.headers, tool.secret_headers);
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
        registry.add(tool.definition, std::move(*function), {.approval = tool.approval});
    }
    return registry;
}

std::vector<runner::mcp_server_settings>
make_mcp_servers(const tools_config& tools, logger& log, heavy_work& heavy) {
    std::vector<runner::mcp_server_settings> servers;
    for (const mcp_server_config& server : tools.mcp_servers) {
        runner::mcp_server_settings& made = servers.emplace_back();
        made.client.server = server.name;
        made.client.client_version = AGUI_VERSION;
        made.client.call_timeout = server.timeout;
        made.client.heavy = &heavy;
        made.approval = server.approval;
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
        auto endpoint = runner::mcp_http_endpoint::make(std::move(settings));
        if (!endpoint) {
            throw std::runtime_error("mcp_servers " + server.name + ": " + endpoint.error().detail);
        }
        made.channel = [endpoint = *endpoint](boost::asio::any_io_executor executor) {
            return endpoint.channel(std::move(executor));
        };
        // A configured header takes precedence over a request's.
        const header_list configured = all_headers(server.headers, server.secret_headers);
        for (const std::string& name : server.pass_headers) {
            const bool taken = std::ranges::any_of(configured, [&](const auto& header) {
                return equal_ignoring_case(header.first, name);
            });
            if (!taken) {
                made.pass_headers.push_back(name);
            }
        }
        made.own_channel = [endpoint =
                                *endpoint](boost::asio::any_io_executor executor, header_list own) {
            return endpoint.channel(std::move(executor), std::move(own));
        };
    }
    return servers;
}

std::vector<std::string> passed_headers(const tools_config& tools) {
    std::set<std::string> names{std::string(runner::trace_header)};
    for (const webhook_config& tool : tools.webhooks) {
        names.insert(tool.pass_headers.begin(), tool.pass_headers.end());
    }
    for (const mcp_server_config& server : tools.mcp_servers) {
        names.insert(server.pass_headers.begin(), server.pass_headers.end());
    }
    return {names.begin(), names.end()};
}

std::string default_agent(const config& all) {
    const std::string usual = run_settings().default_agent;
    const bool has_it = std::ranges::find(all.agents, usual, &agent_config::id) != all.agents.end();
    return has_it || all.agents.empty() ? usual : all.agents.front().id;
}

run_settings make_run_settings(
    const config& all, const provider_map& providers, const runner::loop_callback& decide_loop,
    const std::map<std::string, runner::tool_executors>& executors
) {
    run_settings settings;
    settings.history = all.session.history;
    settings.reject_name_clash = all.tools.reject_name_clash;
    for (const external_tool_config& tool : all.tools.external) {
        settings.external_tools.push_back({tool.definition, tool.always});
    }
    settings.on_disconnect = all.server.on_disconnect;
    settings.run_timeout = all.server.run_timeout;
    settings.replay = all.session.replay;
    settings.detached = all.server.detached;
    settings.max_runs = all.server.max_runs;
    settings.max_run_bytes = all.server.max_run_bytes;
    settings.max_detached_runs = all.server.max_detached_runs;
    settings.max_result_bytes = all.tools.max_result_bytes;
    settings.max_thread_bytes = all.session.max_thread_bytes;
    settings.relaxed_durability = all.session.durability == session::durability::relaxed;
    settings.supersede_active = all.session.on_busy == busy_policy::supersede;
    settings.supersede_detached = all.session.supersede_detached;
    settings.max_waiting_messages = all.session.queue_max;
    const bool steers = all.session.on_busy == busy_policy::steer;
    if (steers || all.session.on_busy == busy_policy::enqueue) {
        settings.queue = {all.session.queue_max, all.session.queue_hold, steers};
        settings.supersede_detached = false;
    }
    settings.busy_wait = all.session.busy_wait;
    settings.translation.usage = all.server.usage;
    for (const agent_config& agent : all.agents) {
        agent_entry& made = settings.agents[agent.id] = make_agent(all, agent, providers);
        made.settings.limits.decide_loop = decide_loop;
    }
    for (const auto& [agent, own] : executors) {
        const auto entry = settings.agents.find(agent);
        if (entry == settings.agents.end()) {
            throw std::runtime_error("executors: there is no agent " + agent);
        }
        entry->second.settings.executors = std::make_shared<const runner::tool_executors>(own);
    }
    add_own_tools(all, settings);
    settings.default_agent = default_agent(all);
    return settings;
}

translator::input_limits make_input_limits(const config& all) {
    translator::input_limits limits = all.server.input;
    for (const agent_config& agent : all.agents) {
        for (const std::string& name : agent.prompt_props) {
            if (std::ranges::find(limits.prompt_props, name) == limits.prompt_props.end()) {
                limits.prompt_props.push_back(name);
            }
        }
    }
    return limits;
}

std::size_t thread_count(const server_config& server) {
    return server.threads > 0 ? server.threads : std::max(1U, std::thread::hardware_concurrency());
}

memory_limits make_memory_limits(const server_config& server) {
    constexpr std::size_t largest_reserve = 256U << 20U;
    memory_limits limits;
    limits.budget = effective_memory(server);
    limits.reserve = std::min(limits.budget / 8, largest_reserve);
    limits.unfinished =
        server.max_unfinished_bytes > 0 ? server.max_unfinished_bytes : 4 * server.max_body_bytes;
    return limits;
}

place_limits make_place_limits(const config& all, std::size_t descriptors) {
    // Files of the store, sockets being accepted or answered, and files opened by libraries.
    constexpr std::size_t usual = 128;
    constexpr std::size_t of_thread = 3; // Descriptors with which an io_context waits.
    constexpr std::size_t of_mcp_server = 4;
    place_limits limits;
    std::size_t others = usual + 3 * limits.reserve + of_mcp_server * all.tools.mcp_servers.size() +
                         of_thread * thread_count(all.server);
    if (all.session.store == session_config::store_kind::postgres) {
        others += all.session.store_connections + 1;
    }
    const std::size_t room = (descriptors - std::min(others, descriptors)) / 2;
    limits.all =
        std::clamp<std::size_t>(all.server.max_connections, 1, std::max<std::size_t>(room, 1));
    limits.per_client = all.server.max_connections_per_address > 0
                            ? all.server.max_connections_per_address
                            : std::max<std::size_t>(limits.all / 4, 1);
    limits.idle = all.server.spare_idle;
    return limits;
}

std::size_t descriptor_limit() noexcept {
    constexpr std::size_t usual_limit = 1024;
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur)
                                                   : usual_limit;
}

connection_limits make_connection_limits(const server_config& server) {
    connection_limits limits;
    limits.header = server.header;
    limits.body = server.body;
    limits.stall = server.stall;
    limits.reply = server.reply;
    limits.reply_rate = server.reply_rate;
    limits.min_reply_rate = server.min_reply_rate;
    limits.lag = server.lag;
    limits.farewell = server.farewell;
    limits.heartbeat = server.heartbeat;
    limits.max_header_bytes = server.max_header_bytes;
    limits.max_body_bytes = server.max_body_bytes;
    limits.body_idle = server.body_idle;
    limits.reader_buffer_bytes = server.reader_buffer_bytes;
    return limits;
}

std::vector<network> make_networks(const std::vector<std::string>& texts) {
    std::vector<network> networks;
    networks.reserve(texts.size());
    for (const std::string& text : texts) {
        // Validated when the configuration was read.
        networks.push_back(network::parse(text).value());
    }
    return networks;
}

access_settings make_access(const config& all) {
    access_settings access;
    access.cors_origins = all.server.cors_origins;
    access.cors_credentials = all.server.cors_credentials;
    access.allowed_hosts = effective_hosts(all.server);
    return access;
}

std::optional<std::string> expected_token(const config& all) {
    const bool needed = all.auth && all.auth->kind == auth_config::mode::bearer;
    return needed ? std::optional(all.auth->token.value) : std::nullopt;
}

} // namespace agui::gateway
