#pragma once

#include "gateway/runs/run_settings.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"
#include "session/history/history_plan.hpp"
#include "translator/input/run_input.hpp"

#include <utility>
#include <vector>

namespace agui::gateway {

// Prepares a request and its thread for the session and the runner. Pure, except for log lines.

/// The tools of the caller that this run offers: the config's, then the request's (or, if the
/// request has no `tools`, those last offered on the thread). errc::tool_name_clash if the settings
/// demand it.
[[nodiscard]] result<std::vector<runner::tool_definition>> external_tools(
    const run_settings& settings, const runner::tool_registry& server_tools,
    const translator::run_input& input, const session::thread_record& thread, logger& log
);

/// The request as input of the history rule. The result refers to `server_tools`.
[[nodiscard]] session::history_input history_of(
    const run_settings& settings, const runner::tool_registry& server_tools,
    const translator::run_input& input
);

struct chosen_agent {
    runner::agent_settings settings;
    runner::model_provider* model = nullptr;
    std::vector<runner::model_choice> fallbacks; ///< See runner::run_request.
};

/// The agent for this request: with the model that it names, if that is configured, the parameters
/// that it may set, and the thread's `context`.
[[nodiscard]] chosen_agent agent_of(
    const agent_entry& agent, const translator::run_input& input, const boost::json::array& context,
    logger& log
);

/// Completes the plan's change: journal entries, times, title, and the request's thread, tools,
/// context and state. `policy` is the one used for the plan.
void complete_change(
    session::history_plan& plan, const translator::run_input& input,
    const session::thread_record& thread, const agent_entry& agent,
    const session::history_policy& policy, unix_ms now
);

} // namespace agui::gateway
