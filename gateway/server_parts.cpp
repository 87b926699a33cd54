#include "gateway/server_parts.hpp"

#include "gateway/agents_own_tools.hpp"
#include "gateway/auth/caller.hpp"
#include "gateway/run/title_request.hpp"
#include "session/base/sha256_text.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

namespace agui::gateway {
namespace {

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

// Without the input, which is unknown before the request.
session::usage_amount first_call_of(const model_config& model) {
    const std::int64_t output =
        model.parameters.max_output_tokens.value_or(model.metering.reserved_output);
    return {1, output, cost_of(model.metering.price, 1, output)};
}

// A client may always name the tools of the configuration, whose definitions it cannot change.
std::optional<std::vector<std::string>>
client_tools_of(const tools_config& tools, const agent_config& agent) {
    auto allowed = agent.client_tools ? agent.client_tools : tools.client_names;
    if (allowed) {
        for (const external_tool_config& tool : tools.external) {
            allowed->push_back(tool.definition.name);
        }
    }
    return allowed;
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
    entry.settings.delimits_results = agent.delimits_results;
    entry.settings.reply = agent.reply;
    if (!agent.detects_loops) {
        entry.settings.limits.loop_threshold = 0;
    }
    entry.settings.parameters = parameters_of(agent, find_model(all, agent.models.front()));
    entry.model = providers.at(agent.models.front()).get();
    entry.first_call = first_call_of(find_model(all, agent.models.front()));
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
    entry.tanstack = sends_tanstack(agent);
    entry.client_tools = client_tools_of(all.tools, agent);
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
    entry.titles = agent.title != title_source::off;
    if (agent.title == title_source::model) {
        const model_config& model = find_model(all, agent.title_model);
        entry.title_model = {
            providers.at(model.name).get(),
            title_parameters(
                model.parameters, dialect_of(model) == model_config::provider_kind::anthropic
            )
        };
    }
    for (const model_config& model : all.models) {
        entry.models[model.name] = {providers.at(model.name).get(), parameters_of(agent, model)};
    }
    return entry;
}

} // namespace

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

std::vector<quota_rule> make_quota_rules(const config& all) {
    std::vector<quota_rule> rules;
    for (const quota_config& each : all.quotas) {
        quota_rule& rule = rules.emplace_back();
        rule.per = each.per;
        rule.limits = each.limits;
        if (!each.user.empty()) {
            rule.principal = principal_of(each.tenant, each.user);
        } else if (!each.tenant.empty()) {
            rule.tenant = principal_of({}, each.tenant); // As it is written in a principal.
        }
    }
    return rules;
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

namespace {

/// The scheme and the host of a URL; empty if the URL is.
std::string origin_of(const std::string& url) {
    const std::size_t host = url.find("://");
    return host == std::string::npos ? std::string() : url.substr(0, url.find('/', host + 3));
}

} // namespace

access_settings make_access(const config& all) {
    access_settings access;
    access.cors_origins = all.server.cors_origins;
    access.cors_credentials = all.server.cors_credentials;
    access.public_origin = origin_of(all.server.public_url);
    access.allowed_hosts = effective_hosts(all.server);
    return access;
}

} // namespace agui::gateway
