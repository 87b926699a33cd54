#include "runner/loop/run_tools.hpp"

#include "runner/base/tool_schema.hpp"
#include "session/base/contains.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace agui::runner {

namespace {

std::vector<tool_definition> server_tools_of(const tool_set& server, const agent_settings& agent) {
    if (agent.only_external_tools) {
        return {};
    }
    std::vector<tool_definition> tools = server.definitions(agent.tool_patterns);
    if (agent.own_tools) {
        std::erase_if(tools, [&agent](const tool_definition& tool) {
            return agent.own_tools->contains(tool.name);
        });
        for (tool_definition& tool : agent.own_tools->definitions({})) {
            tools.push_back(std::move(tool));
        }
    }
    return tools;
}

} // namespace

std::vector<std::string>
server_tool_names(const tool_registry& registry, const agent_settings& agent) {
    std::vector<std::string> names;
    for (tool_definition& tool : server_tools_of(*registry.snapshot(), agent)) {
        names.push_back(std::move(tool.name));
    }
    return names;
}

bool is_server_tool(
    const tool_registry& registry, const agent_settings& agent, std::string_view name
) {
    return registry.contains(name) || (agent.own_tools && agent.own_tools->contains(name));
}

run_tools::run_tools(
    const tool_registry& registry, const agent_settings& agent,
    std::vector<tool_definition> external
)
    : server_(registry.snapshot()),
      own_(agent.own_tools),
      offered_(server_tools_of(*server_, agent)) {
    const auto is_left_out = [&agent](const tool_definition& tool) {
        return agent.keeps_tool_list && !contains(agent.tool_order, tool.name);
    };
    std::erase_if(offered_, is_left_out);
    std::erase_if(external, is_left_out);
    for (const tool_definition& tool : offered_) {
        server_names_.insert(tool.name);
    }
    for (tool_definition& tool : external) {
        if (!server_names_.contains(tool.name)) {
            external_names_.insert(tool.name);
            tool.parameters = tool_schema(tool.parameters); // Once, not for each model call.
            offered_.push_back(std::move(tool));
        }
    }
    add_withdrawn(agent);
    if (!agent.tool_order.empty()) {
        sort(agent.tool_order);
    }
    const auto is_late = [&agent](const tool_definition& tool) {
        return contains(agent.late_tools, tool.name);
    };
    if (std::ranges::any_of(offered_, is_late)) {
        with_late_ = offered_;
        std::erase_if(offered_, is_late);
    }
}

void run_tools::add_withdrawn(const agent_settings& agent) {
    for (const tool_definition& tool : agent.withdrawn_tools) {
        if (!server_names_.contains(tool.name) && !external_names_.contains(tool.name)) {
            tool_definition& added = offered_.emplace_back(tool);
            added.parameters = tool_schema(added.parameters);
        }
    }
}

void run_tools::sort(const std::vector<std::string>& order) {
    std::map<std::string, std::size_t, std::less<>> places;
    for (const std::string& name : order) {
        places.emplace(name, places.size());
    }
    for (const tool_definition& tool : offered_) {
        places.emplace(tool.name, places.size());
    }
    std::ranges::sort(offered_, {}, [&places](const tool_definition& tool) {
        return places.find(tool.name)->second;
    });
}

session::call_owner run_tools::owner_of(std::string_view name) const noexcept {
    return external_names_.contains(name) ? session::call_owner::external
                                          : session::call_owner::server;
}

std::shared_ptr<const registered_tool> run_tools::tool_of(std::string_view name) const noexcept {
    if (!server_names_.contains(name)) {
        return nullptr;
    }
    const auto& from = own_ && own_->contains(name) ? own_ : server_;
    return {from, from->find_tool(name)}; // A part of the set, which the pointer keeps alive.
}

bool run_tools::is_foreign(std::string_view name) const noexcept {
    if (own_ && own_->contains(name)) {
        return false;
    }
    const registered_tool* const tool = server_->find_tool(name);
    return tool == nullptr || tool->options.is_foreign;
}

} // namespace agui::runner
