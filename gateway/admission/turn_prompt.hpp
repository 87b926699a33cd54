#pragma once

#include "gateway/run/run_settings.hpp"
#include "session/base/clock.hpp"
#include "session/conversation/thread.hpp"
#include "session/history/history_plan.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

// What a model is told besides the messages: instructions, context and state. It is recorded with
// the message that brings it (session/history/prompt_fold.hpp), so that a request begins with the
// request before it (P13). Pure.

/// The element of a thread's context that holds the values of forwardedProps for the instructions.
/// It is stored beside the entries because, like them, it applies to a whole user turn, whose later
/// requests may only answer calls. Requests cannot write it, because only two members of their
/// entries are stored.
inline constexpr std::string_view props_member = "forwardedProps";

/// The values in an element of a thread's context; null for an entry.
[[nodiscard]] const boost::json::object* props_of(const boost::json::value& element);
/// The values in a thread's context, or null.
[[nodiscard]] const boost::json::object* props_in(const boost::json::array& context);

/// How many withdrawn tools a thread keeps: as many as a request may offer. A page that makes up
/// tools for ever begins a new prefix with each further one.
inline constexpr std::size_t withdrawn_tools_max = 128;

/// Adds a record to the plan's last message, with the parts of the prompt that must be told with
/// it. Adds nothing if the plan asks no model or brings no message. `before` is the thread without
/// the plan's change. `tools` are the names of all tools that the run offers, in order.
void record_prompt(
    session::history_plan& plan, const session::thread_record& before, const agent_entry& agent,
    std::vector<std::string> tools, unix_ms now
);

/// Sets the agent's instructions, context and list of tools for a run. `thread` holds the request's
/// messages. They are those that its records tell. Where the records belong to another agent or
/// another text, or there are none, they are made anew. Otherwise a change that no message could
/// bring, such as one of a request which only asks for another answer or approves a call, is told
/// with the next message.
void set_prompt(
    runner::agent_settings& settings, const agent_entry& agent, const session::thread_record& thread
);

} // namespace agui::gateway
