#pragma once

#include "runner/loop/agent_loop.hpp"
#include "runner/loop/conversation.hpp"
#include "runner/loop/loop_context.hpp"
#include "runner/loop/run_tools.hpp"

#include <memory>

namespace agui::runner {

class run_hooks;
class subagent_runs;
struct delegation;

/// The objects that the steps of one run share. The run owns them and outlives its steps.
struct run_parts {
    const run_request& request;
    const loop_services& services;
    run_sink& sink;
    stop_source& stop;
    conversation& thread;
    const run_tools& tools;
    const std::unique_ptr<run_hooks>& hooks; ///< Null if the run has no plugins.
    const std::shared_ptr<loop_context>& context;
    const std::shared_ptr<subagent_runs>& subagents; ///< Null if the agent may call no agents.
    delegation* const& within; ///< Null if the run neither is one of a subagent nor has any.

    /// For session::model_history(); empty if the agent's results are not delimited. Refers to
    /// `tools`.
    [[nodiscard]] session::foreign_tool_check foreign_tools() const {
        if (!request.agent.delimits_results) {
            return {};
        }
        return [&of = tools](std::string_view name) {
            return of.is_foreign(name);
        };
    }
};

} // namespace agui::runner
