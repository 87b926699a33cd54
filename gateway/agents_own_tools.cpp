#include "gateway/agents_own_tools.hpp"

#include "gateway/admission/turn_prompt.hpp"
#include "runner/loop/agent_tool.hpp"
#include "runner/tools/state_tool.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace agui::gateway {
namespace {

// The tools of the agent alone: the state's, and the agents that it may call.
std::shared_ptr<const runner::tool_set>
own_tools_of(const agent_config& agent, const runner::agent_settings& settings) {
    std::vector<runner::server_tool> tools;
    if (agent.state_tool) {
        auto tool = runner::make_state_tool(agent.state_schema);
        if (!tool) { // load_config() has checked it; a program may have changed it.
            throw std::runtime_error("agents.state_schema: " + tool.error().detail);
        }
        tools.push_back(std::move(*tool));
    }
    for (const std::string& id : agent.agents) {
        tools.push_back(runner::agent_tool(id, *settings.agents.at(id)));
    }
    return tools.empty() ? nullptr : runner::tool_registry(std::move(tools)).snapshot();
}

// Completes the settings of agents with the agents that they may call.
class called_agents {
public:
    called_agents(const config& all, run_settings& settings) : all_(all), settings_(settings) {}

    void complete_all() {
        for (const agent_config& agent : all_.agents) {
            complete(agent);
        }
    }

private:
    // In a circle, which load_config() refuses, the last agent would have no agents.
    void complete(const agent_config& agent) {
        if (!begun_.insert(agent.id).second) {
            return;
        }
        runner::agent_settings& own = settings_.agents.at(agent.id).settings;
        for (const std::string& id : agent.agents) {
            const auto called = std::ranges::find(all_.agents, id, &agent_config::id);
            if (called == all_.agents.end()) { // A program may have changed the configuration.
                throw std::runtime_error("agents.agents: there is no agent " + id);
            }
            complete(*called);
            own.agents[id] = make_called(*called, settings_.agents.at(id));
        }
        own.own_tools = own_tools_of(agent, own);
    }

    static std::shared_ptr<const runner::called_agent>
    make_called(const agent_config& agent, const agent_entry& entry) {
        auto made = std::make_shared<runner::called_agent>();
        made->description = agent.description;
        made->settings = entry.settings;
        made->model = entry.model;
        made->fallbacks = entry.fallbacks;
        if (!entry.prompt.constant()) {
            made->instructions = [prompt = entry.prompt, id = agent.id](
                                     const session::thread_record& thread, unix_ms called_at
                                 ) {
                session::prompt_values values;
                values.user = thread.key.principal;
                values.agent = id;
                values.thread = thread.key.thread_id;
                values.time = called_at;
                values.props = props_in(thread.context);
                return prompt.render(values);
            };
        }
        return made;
    }

    const config& all_;
    run_settings& settings_;
    std::set<std::string> begun_;
};

} // namespace

void add_own_tools(const config& all, run_settings& settings) {
    called_agents(all, settings).complete_all();
}

} // namespace agui::gateway
