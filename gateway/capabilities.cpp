#include "gateway/capabilities.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace agui::gateway {
namespace json = boost::json;

namespace {

bool may_override(const agent_config& agent, std::string_view name) {
    return std::ranges::find(agent.overridable, name) != agent.overridable.end();
}

json::object output_of(const agent_config& agent) {
    const bool has_form = may_override(agent, "response_format") ||
                          !agent.reply_schema_text.empty() ||
                          agent.reply == runner::reply_format::items;
    return {{"structuredOutput", has_form}, {"supportedMimeTypes", json::array{"text/plain"}}};
}

/// The questions that a person may get in the runs of an agent.
struct possible_questions {
    bool approvals = false;
    bool inputs = false;
};

bool may_ask_approval(const runner::tool_options& tool) {
    return tool.needs_approval || tool.approval == runner::approval_rule::always ||
           (tool.approval == runner::approval_rule::destructive && tool.destructive);
}

// Agents that it calls ask the same person.
possible_questions questions_of(
    const config& all, const agent_config& agent, const runner::tool_set& tools,
    std::size_t depth = 0
) {
    const auto asks = [](const auto& one) {
        return one.approval != runner::approval_rule::never;
    };
    possible_questions found{
        .approvals = asks(agent) || std::ranges::any_of(all.tools.mcp_servers, asks),
        .inputs = !all.tools.mcp_servers.empty()
    };
    for (const std::string& name : tools.names(agent.tools)) {
        const runner::tool_options& tool = tools.find_tool(name)->options;
        found.approvals = found.approvals || may_ask_approval(tool);
        found.inputs = found.inputs || tool.asks_for_input;
    }
    for (const std::string& id : agent.agents) {
        const auto called = std::ranges::find(all.agents, id, &agent_config::id);
        if (called != all.agents.end() && depth < runner::subagent_depth_max) {
            const possible_questions theirs = questions_of(all, *called, tools, depth + 1);
            found.approvals = found.approvals || theirs.approvals;
            found.inputs = found.inputs || theirs.inputs;
        }
    }
    return found;
}

json::object
people_of(const config& all, const agent_config& agent, const runner::tool_set& tools) {
    const possible_questions asked = questions_of(all, agent, tools);
    return {
        {"supported", true},
        {"approvals", asked.approvals},
        {"interventions", true},
        {"feedback", false},
        {"interrupts", asked.approvals || asked.inputs},
        {"approveWithEdits", asked.approvals}
    };
}

json::object execution_of(const config& all, const agent_config& agent) {
    const auto longest =
        std::chrono::duration_cast<std::chrono::milliseconds>(all.server.run_timeout);
    return {
        {"codeExecution", false},
        {"maxIterations", agent.max_rounds},
        {"maxExecutionTime", longest.count()}
    };
}

json::object agents_of(const config& all, const agent_config& agent) {
    if (agent.agents.empty()) {
        return {{"supported", false}};
    }
    json::array called;
    for (const std::string& id : agent.agents) {
        json::object& each = called.emplace_back(json::object{{"name", id}}).as_object();
        const auto found = std::ranges::find(all.agents, id, &agent_config::id);
        if (found != all.agents.end() && !found->description.empty()) {
            each["description"] = found->description;
        }
    }
    return {{"supported", true}, {"delegation", true}, {"handoffs", false}, {"subagents", called}};
}

} // namespace

json::object
capabilities_of(const config& all, const agent_config& agent, const runner::tool_set& tools) {
    using store_kind = session_config::store_kind;
    return {
        {"identity", {{"name", agent.id}}},
        {"transport",
         {{"streaming", true},
          {"websocket", false},
          {"httpBinary", true},
          {"pushNotifications", false},
          {"resumable", true}}},
        {"tools", {{"supported", true}, {"clientProvided", true}}},
        {"output", output_of(agent)},
        {"state",
         {{"snapshots", true},
          {"deltas", true},
          {"memory", false},
          {"persistentState", all.session.store != store_kind::memory}}},
        {"multiAgent", agents_of(all, agent)},
        {"execution", execution_of(all, agent)},
        {"humanInTheLoop", people_of(all, agent, tools)}
    };
}

} // namespace agui::gateway
