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
};

} // namespace agui::runner
