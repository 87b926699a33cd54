#include "gateway/config/config.hpp"

#include "gateway/config/config_access.hpp"
#include "gateway/config/config_sections.hpp"
#include "gateway/config/config_table.hpp"
#include "gateway/config/machine_memory.hpp"
#include "gateway/http/listener.hpp"
#include "runner/tools/state_tool.hpp"

#include <boost/throw_exception.hpp>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace agui::gateway {
namespace {

using problem_list = std::vector<std::string>;

/// A TOML basic string with that content.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (c == '\n') {
            result += "\\n";
        } else {
            result += c;
        }
    }
    return result + "\"";
}

std::optional<toml::table> parse_value(const std::string& text) {
    try {
        return toml::parse("value = " + text, std::string_view("--set"));
    } catch (const toml::parse_error&) {
        return std::nullopt;
    }
}

/// The value of an override: TOML if it can be read as such, otherwise a plain string, so that no
/// quotes are needed in a shell.
std::optional<toml::table> parse_override(std::string_view text) {
    auto parsed = parse_value(std::string(text));
    if (!parsed || parsed->size() != 1) {
        parsed = parse_value(quoted(text));
    }
    return parsed;
}

std::optional<std::size_t> as_index(std::string_view text) {
    std::size_t index = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), index);
    return ec == std::errc{} && end == text.data() + text.size() ? std::optional(index)
                                                                 : std::nullopt;
}

/// The table or array below `at`, created if it is missing; nullptr if something else is there.
toml::node* descend(toml::node& at, std::string_view key, bool next_is_index) {
    if (toml::table* table = at.as_table()) {
        if (!table->contains(key)) {
            if (next_is_index) {
                table->insert(key, toml::array{});
            } else {
                table->insert(key, toml::table{});
            }
        }
        return table->get(key);
    }
    toml::array* array = at.as_array();
    const auto index = as_index(key);
    if (array == nullptr || !index || *index > array->size()) {
        return nullptr;
    }
    if (*index == array->size()) {
        array->push_back(toml::table{});
    }
    return array->get(*index);
}

void apply_override(toml::table& document, std::string_view text, problem_list& problems) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        problems.push_back("--set: " + std::string(text) + ": must have the form key.path=value");
        return;
    }
    const std::string key(text.substr(0, equals));
    auto parsed = parse_override(text.substr(equals + 1));
    if (!parsed) {
        problems.push_back(
            "--set: " + key + ": the value holds characters that TOML does not allow"
        );
        return;
    }
    toml::node* at = &document;
    std::string_view rest = key;
    while (at != nullptr && rest.find('.') != std::string_view::npos) {
        const std::string_view segment = rest.substr(0, rest.find('.'));
        rest.remove_prefix(segment.size() + 1);
        at = descend(*at, segment, as_index(rest.substr(0, rest.find('.'))).has_value());
    }
    toml::table* table = at == nullptr ? nullptr : at->as_table();
    if (table == nullptr || rest.empty()) {
        problems.push_back(
            "--set: " + key + ": the configuration has no table or array at this path"
        );
        return;
    }
    parsed->get("value")->visit([table, rest](auto& value) {
        table->insert_or_assign(rest, std::move(value));
    });
}

std::optional<toml::table> read_document(const config_sources& sources, problem_list& problems) {
    std::string text = sources.text;
    std::string name = "config";
    if (!sources.file.empty()) {
        name = sources.file;
        std::ifstream stream(sources.file, std::ios::binary);
        if (!stream) {
            problems.push_back(sources.file + ": cannot be read");
            return std::nullopt;
        }
        text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    try {
        return toml::parse(text, name);
    } catch (const toml::parse_error& error) {
        problems.push_back(position_of(error.source()) + std::string(error.description()));
        return std::nullopt;
    }
}

void describe_models(config_table& root, std::vector<model_config>& models) {
    root.table("models", models, [](config_table& table, std::vector<model_config>& all) {
        for (const std::string& name : table.keys()) {
            all.emplace_back().name = name;
        }
        for (model_config& model : all) {
            table.table(model.name, model, describe_model);
        }
    });
    if (models.empty()) {
        root.problem("models", "must hold at least one model, such as [models.main]");
    }
}

void describe_agents(config_table& root, config& all) {
    std::set<std::string> ids;
    root.tables("agents", all.agents, [&](config_table& table, agent_config& agent) {
        describe_agent(table, agent);
        if (!ids.insert(agent.id).second) {
            table.problem("id", "is used twice");
        }
        const std::string& titles = agent.title_model;
        if (!titles.empty() &&
            std::ranges::find(all.models, titles, &model_config::name) == all.models.end()) {
            table.problem("title_model", "there is no [models." + titles + "]");
        }
        for (const std::string& name : agent.models) {
            const auto model = std::ranges::find(all.models, name, &model_config::name);
            if (model == all.models.end()) {
                table.problem("models", "there is no [models." + name + "]");
                continue;
            }
            if (model->tool_addition && agent.tool_list == tool_list::exact) {
                table.problem(
                    "tool_list", "with \"exact\", tool_addition of [models." + name +
                                     "] has no effect; use \"append\" or \"auto\""
                );
            }
            // The agent's own parameters only: those of the model are checked at the model.
            runner::model_parameters own = agent.parameters;
            own.model = model->parameters.model;
            for (const runner::anthropic_refusal& each : refusals_of(*model, own)) {
                if (each.setting != "extra_body" && each.setting != "thinking") {
                    table.problem(each.setting, "[models." + name + "]: " + each.why);
                }
            }
        }
    });
    if (!root.has("agents") && all.agents.empty() && all.models.size() == 1) {
        all.agents.emplace_back().models = {all.models.front().name};
    } else if (all.agents.empty() && all.models.size() > 1) {
        root.problem("agents", "with several models, at least one [[agents]] is needed");
    }
}

// The ids of the agents that any of `callers` may call.
std::set<std::string> called_by(const config& all, const std::set<std::string>& callers) {
    std::set<std::string> called;
    for (const agent_config& agent : all.agents) {
        if (callers.contains(agent.id)) {
            called.insert(agent.agents.begin(), agent.agents.end());
        }
    }
    return called;
}

// A circle of agents is deeper than any limit.
bool calls_too_deep(const config& all, const std::string& id) {
    std::set<std::string> reached{id};
    for (std::size_t depth = 0; depth <= runner::subagent_depth_max; ++depth) {
        reached = called_by(all, reached);
    }
    return !reached.empty();
}

void check_called_agents(config_table& root, const config& all) {
    std::set<std::string> ids;
    for (const agent_config& agent : all.agents) {
        ids.insert(agent.id);
    }
    std::set<std::string> tools{std::string(runner::state_tool_name)};
    for (const external_tool_config& tool : all.tools.external) {
        tools.insert(tool.definition.name);
    }
    for (const webhook_config& tool : all.tools.webhooks) {
        tools.insert(tool.definition.name);
    }
    const auto refuse = [&root](const agent_config& agent, std::string_view what) {
        std::string text = "agents[";
        root.problem("agents", text.append(agent.id).append("].agents: ").append(what));
    };
    for (const agent_config& agent : all.agents) {
        std::set<std::string> seen;
        for (const std::string& name : agent.agents) {
            if (!ids.contains(name)) {
                refuse(agent, "there is no agent \"" + name + "\"");
            } else if (!seen.insert(name).second) {
                refuse(agent, "\"" + name + "\" is named twice");
            } else if (tools.contains(name)) {
                refuse(agent, "\"" + name + "\" is also the name of a tool");
            }
        }
        if (calls_too_deep(all, agent.id)) {
            refuse(
                agent, "agents may call each other no deeper than " +
                           std::to_string(runner::subagent_depth_max) +
                           " levels, and not in a circle"
            );
        }
    }
}

void describe_mcp_servers(config_table& root, std::vector<mcp_server_config>& servers) {
    std::set<std::string> names;
    root.tables("mcp_servers", servers, [&](config_table& table, mcp_server_config& server) {
        describe_mcp_server(table, server);
        if (!names.insert(server.name).second) {
            table.problem("name", "is used twice");
        }
    });
}

void describe_quotas(config_table& root, std::vector<quota_config>& quotas) {
    std::set<std::tuple<quota_scope, std::string, std::string>> seen;
    root.tables("quotas", quotas, [&](config_table& table, quota_config& quota) {
        describe_quota(table, quota);
        if (!seen.emplace(quota.per, quota.tenant, quota.user).second) {
            table.problem("per", "another [[quotas]] is for the same ones");
        }
    });
}

void describe(config_table& root, config& all) {
    root.table("server", all.server, describe_server);
    auth_config auth = all.auth.value_or(auth_config());
    if (root.uses(all.auth.has_value()) && root.table("auth", auth, describe_auth)) {
        all.auth = std::move(auth);
    }
    root.table("audit", all.audit, describe_audit);
    root.table("access_log", all.access_log, describe_access_log);
    root.table("session", all.session, describe_session);
    root.table("tools", all.tools, [&all](config_table& table, tools_config& tools) {
        describe_tools(table, tools, all.session.history);
    });
    describe_models(root, all.models);
    describe_agents(root, all);
    describe_mcp_servers(root, all.tools.mcp_servers);
    if (root.uses(!all.quotas.empty())) {
        describe_quotas(root, all.quotas);
    }
}

void check_tool_names(config_table& root, const tools_config& tools) {
    std::set<std::string> names;
    const auto check = [&](const runner::tool_definition& tool) {
        if (!names.insert(tool.name).second) {
            root.problem("tools", "two tools have the name \"" + tool.name + "\"");
        }
    };
    for (const external_tool_config& tool : tools.external) {
        check(tool.definition);
    }
    for (const webhook_config& tool : tools.webhooks) {
        check(tool.definition);
    }
}

} // namespace

void throw_exception_from_error(
    const config_problems& problems, const boost::source_location& where
) {
    const std::string text = problems.lines.empty() ? "configuration" : problems.lines.front();
    boost::throw_exception(std::runtime_error(text), where);
}

config_result<config> load_config(const config_sources& sources) {
    config_problems problems;
    auto document = read_document(sources, problems.lines);
    if (!document) {
        return problems;
    }
    for (const std::string& text : sources.overrides) {
        apply_override(*document, text, problems.lines);
    }

    config all;
    config_table root(*document, {}, problems.lines);
    describe(root, all);
    root.report_unknown();

    check_tool_names(root, all.tools);
    check_called_agents(root, all);
    for (const access_problem& each : access_problems(all)) {
        root.problem(each.table, each.text);
    }
    if (!problems.lines.empty()) {
        return problems;
    }
    return all;
}

namespace {

/// The address in URL form.
std::string host_of(const boost::asio::ip::address& address) {
    return address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
}

/// The listen address.
std::string listen_host(const server_config& server) {
    return host_of(parse_endpoint(server.listen).address());
}

} // namespace

std::string print_config(const config& what) {
    config all = what;
    all.server.allowed_hosts = effective_hosts(what.server);
    all.server.max_memory_bytes = effective_memory(what.server);
    for (agent_config& agent : all.agents) {
        agent.client_history = agent.client_history.value_or(what.session.history.client_history);
    }
    toml::table document;
    config_table root(document);
    describe(root, all);
    std::ostringstream text;
    text << document << '\n';
    return text.str();
}

std::size_t effective_memory(const server_config& server) {
    return server.max_memory_bytes > 0 ? server.max_memory_bytes : usable_memory() / 2;
}

std::string effective_public_url(const server_config& server, std::uint16_t port) {
    if (!server.public_url.empty() || !listens_on_loopback(server)) {
        return server.public_url;
    }
    return "http://" + listen_host(server) + ":" + std::to_string(port) + server.base_path;
}

std::string effective_peer_url(
    const server_config& server, std::uint16_t port, const std::string& address_at_store
) {
    if (!server.peer_url.empty()) {
        return server.peer_url;
    }
    auto address = parse_endpoint(server.listen).address();
    if (address.is_unspecified()) {
        boost::system::error_code unreadable;
        address = boost::asio::ip::make_address(address_at_store, unreadable);
        // Other gateways cannot reach a link-local address, or one of a family that is not listened
        // on.
        const bool is_other = address.is_v6() && (address.to_v6().is_link_local() ||
                                                  parse_endpoint(server.listen).address().is_v4());
        if (unreadable || address.is_loopback() || is_other) {
            return {};
        }
    }
    return "http://" + host_of(address) + ":" + std::to_string(port) + server.base_path;
}

std::vector<std::string> effective_hosts(const server_config& server) {
    if (!server.allowed_hosts.empty() || !listens_on_loopback(server)) {
        return server.allowed_hosts;
    }
    std::vector<std::string> hosts{"localhost", "127.0.0.1", "[::1]"};
    const std::string own = listen_host(server);
    if (std::ranges::find(hosts, own) == hosts.end()) {
        hosts.push_back(own);
    }
    return hosts;
}

} // namespace agui::gateway
