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

// A C++ program's own tools may ask as well, which no configuration tells. The agents that it calls
// ask the same person.
bool asks_for_approval(const config& all, const agent_config& agent, std::size_t depth = 0) {
    const auto asks = [](const auto& tool) {
        return tool.approval != runner::approval_rule::never;
    };
    const auto called_asks = [&](const std::string& id) {
        const auto called = std::ranges::find(all.agents, id, &agent_config::id);
        return called != all.agents.end() && depth < runner::subagent_depth_max &&
               asks_for_approval(all, *called, depth + 1);
    };
    return asks(agent) || std::ranges::any_of(agent.agents, called_asks) ||
           std::ranges::any_of(all.tools.webhooks, asks) ||
           std::ranges::any_of(all.tools.mcp_servers, asks);
}

json::object people_of(const config& all, const agent_config& agent) {
    const bool asks = asks_for_approval(all, agent);
    // Webhooks may also ask for input, which no configuration tells.
    const bool interrupts = asks || !all.tools.webhooks.empty();
    return {{"supported", true}, {"approvals", asks},        {"interventions", true},
            {"feedback", false}, {"interrupts", interrupts}, {"approveWithEdits", asks}};
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

json::object capabilities_of(const config& all, const agent_config& agent) {
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
        {"humanInTheLoop", people_of(all, agent)}
    };
}

} // namespace agui::gateway
