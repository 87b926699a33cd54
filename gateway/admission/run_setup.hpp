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

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

// Prepares a request and its thread for the session and the runner. Pure, except for log lines.

/// Sets absent `tools` and `context` to empty, as if the request had sent `[]`. A request that
/// continues a turn (tool answers, also with a user message after them, or `resume`) keeps them
/// absent: the values of the turn apply.
void complete_input(translator::run_input& input, const session::thread_record& thread);

/// Says whether the server executes calls of a tool of that name (runner::is_server_tool()).
using server_tool_check = std::function<bool(std::string_view name)>;

/// errc::tool_not_allowed names the request's first tool that is not among
/// agent_entry::client_tools. A request for suggestions may offer its one tool, whose name is
/// CopilotKit's.
[[nodiscard]] result<void>
check_client_tools(const agent_entry& agent, const translator::run_input& input);

/// The caller's tools that this run offers to the model: the configured ones, then those of
/// `stored`, which is thread_record::offered_tools once complete_change() has been applied. A tool
/// with the name of a server tool is left out or, if the settings say so and the request brought
/// it, refused with errc::tool_name_clash. A tool of the thread that clients may not offer to this
/// agent is left out.
[[nodiscard]] result<std::vector<runner::tool_definition>> external_tools(
    const run_settings& settings, const agent_entry& agent, const server_tool_check& is_server_tool,
    const translator::run_input& input, const boost::json::array& stored, logger& log
);

/// The request as input for the history rule; messages without an id get one. The result refers to
/// `server_tools`.
[[nodiscard]] session::history_input history_of(
    const run_settings& settings, const server_tool_check& is_server_tool,
    const runner::tool_registry& server_tools, const translator::run_input& input, unix_ms now
);

/// Gives an answer without an id, which only a client of `on_interrupt` sends, the id of the first
/// open interrupt of the thread's head branch: the one that such clients are shown.
void name_first_interrupt(
    std::vector<session::approval_answer>& answers, const session::thread_record& thread,
    std::chrono::seconds life
);

/// The new user messages at the end of a request, with ids: they are queued if the thread is busy.
/// Empty if the request may not wait, for example because it also answers a call.
[[nodiscard]] std::vector<session::message> messages_to_queue(
    const translator::run_input& input, const std::optional<session::thread_record>& thread
);

struct chosen_agent {
    runner::agent_settings settings;
    runner::model_provider* model = nullptr;
    std::vector<runner::model_choice> fallbacks; ///< See runner::run_request::fallbacks.
};

/// Returns true if a request for this model gets it: the agent lets requests choose it, or it is
/// the agent's own.
[[nodiscard]] bool can_use_model(const agent_entry& agent, std::string_view name);

/// The agent for this request. Its model and parameters are the request's where the request may set
/// them and the model is configured. `thread` already holds the request's messages, with their
/// records of the prompt (turn_prompt.hpp).
[[nodiscard]] chosen_agent agent_of(
    const agent_entry& agent, const translator::run_input& input,
    const session::thread_record& thread, logger& log
);

/// Completes the plan's change: session events, times, run ids, title, and the tools, context and
/// state of the request. `policy` must be the plan's.
void complete_change(
    session::history_plan& plan, const translator::run_input& input,
    const session::thread_record& thread, const agent_entry& agent,
    const session::history_policy& policy, unix_ms now
);

} // namespace agui::gateway
