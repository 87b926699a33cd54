#include "gateway/capabilities.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <chrono>

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

// A C++ program's own tools may ask as well, which no configuration tells.
bool asks_for_approval(const config& all, const agent_config& agent) {
    const auto asks = [](const auto& tool) {
        return tool.approval != runner::approval_rule::never;
    };
    return asks(agent) || std::ranges::any_of(all.tools.webhooks, asks) ||
           std::ranges::any_of(all.tools.mcp_servers, asks);
}

json::object people_of(const config& all, const agent_config& agent) {
    const bool asks = asks_for_approval(all, agent);
    return {{"supported", true}, {"approvals", asks},  {"interventions", true},
            {"feedback", false}, {"interrupts", asks}, {"approveWithEdits", asks}};
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
        {"multiAgent", {{"supported", false}}},
        {"execution", execution_of(all, agent)},
        {"humanInTheLoop", people_of(all, agent)}
    };
}

} // namespace agui::gateway
