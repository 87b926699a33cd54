#pragma once

#include "gateway/run/run_settings.hpp"
#include "runner/loop/agent_loop.hpp"
#include "runner/tools/tool_registry.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"
#include "session/history/history_plan.hpp"
#include "translator/input/run_input.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace agui::gateway {

// Prepares a request and its thread for the session and the runner. Pure, except for log lines.

/// Sets absent `tools` and `context` to empty, as if the request had sent `[]`. A request that
/// continues a turn (tool answers, also with a user message after them, or `resume`) keeps them
/// absent: the values of the turn apply.
void complete_input(translator::run_input& input, const session::thread_record& thread);

/// The caller's tools that this run offers to the model: those of the configuration, then those of
/// the request or, if it has no `tools`, those last offered on the thread. A tool with the name of
/// a server tool is left out or, if the settings say so, refused with errc::tool_name_clash.
[[nodiscard]] result<std::vector<runner::tool_definition>> external_tools(
    const run_settings& settings, const runner::tool_registry& server_tools,
    const translator::run_input& input, const session::thread_record& thread, logger& log
);

/// The request as input for the history rule; messages without an id get one. The result refers to
/// `server_tools`.
[[nodiscard]] session::history_input history_of(
    const run_settings& settings, const runner::tool_registry& server_tools,
    const translator::run_input& input
);

/// The user messages at the end of a request that its thread does not have, with ids: what waits if
/// the thread is busy. Empty: the request is not one that could wait, such as one that also answers
/// a call.
[[nodiscard]] std::vector<session::message> messages_to_queue(
    const translator::run_input& input, const std::optional<session::thread_record>& thread
);

struct chosen_agent {
    runner::agent_settings settings;
    runner::model_provider* model = nullptr;
    std::vector<runner::model_choice> fallbacks; ///< As runner::run_request::fallbacks.
};

/// True if a request that asks for this model is answered by it: the agent lets requests choose it,
/// or it is the agent's own.
[[nodiscard]] bool can_use_model(const agent_entry& agent, std::string_view name);

/// The agent for this request: with the model that the request names (if it may, and that model is
/// configured), the parameters that it may set, its instructions with the values of this user turn,
/// and the thread's `context` and state, where it is given them. `thread` holds the request's
/// messages.
[[nodiscard]] chosen_agent agent_of(
    const agent_entry& agent, const translator::run_input& input,
    const session::thread_record& thread, logger& log
);

/// Completes the plan's change: session events, times, run ids, title, and the tools, context and
/// state of the request. `policy` is the one that was used for the plan.
void complete_change(
    session::history_plan& plan, const translator::run_input& input,
    const session::thread_record& thread, const agent_entry& agent,
    const session::history_policy& policy, unix_ms now
);

} // namespace agui::gateway
