#pragma once

#include "session/base/text_map.hpp"
#include "session/conversation/thread.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace agui::session {

// A subagent is an agent that works for a call of another one. Its messages are stored on the
// branch of that call, each with its subagentRunId (message::subagent_run_id). The id is made of
// the call's id, so that nothing else has to be stored to go on with it after a restart.

/// The id of the subagent run that works for the call. Ids of calls are unique in a thread.
[[nodiscard]] std::string subagent_run_id(std::string_view call_id);

/// The call for which that subagent run works: a part of `subagent_run_id`. Empty if the id is not
/// of this form, for example because a client has made it.
[[nodiscard]] std::string_view call_of_subagent(std::string_view subagent_run_id) noexcept;

/// The message with which the conversation of a subagent begins. It needs to be stored only if the
/// task is not an argument of the stored call.
[[nodiscard]] message task_message(std::string_view call_id, std::string task);

/// The conversation of a subagent as a thread of its own with one branch, for the branch of
/// `thread` that ends in `tip`: the message of the task, then the messages of the subagent without
/// its id. It has the calls of these messages. Where the message of the task is stored, `task` does
/// not count. Pure.
[[nodiscard]] thread_record subagent_thread(
    const thread_record& thread, node_index tip, std::string_view call_id, std::string task
);

/// Adds the calls whose subagents have made, themselves or by their own subagents, something that
/// belongs to `subagent_run_id`. `owner_of` returns the subagentRunId of the message that holds a
/// call; empty for calls that no subagent has made.
void add_agent_calls(
    std::string_view subagent_run_id,
    const std::function<std::string_view(std::string_view call_id)>& owner_of, text_set& calls
);

/// The same for all calls of the thread for which `chosen` is true.
[[nodiscard]] text_set
agent_calls_of(const thread_record& thread, const std::function<bool(const call_record&)>& chosen);

} // namespace agui::session
