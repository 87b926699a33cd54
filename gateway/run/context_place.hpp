#pragma once

namespace agui::gateway {

/// `agents[].context` and `agents[].state`: where the request's context, and the thread's state, go
/// in a model request.
enum class context_place {
    user,   ///< A part of the message with which they came.
    system, ///< After the instructions.
    off,
};

/// `agents[].tool_list`: the tools that a model request declares, always in the order in which the
/// thread's requests first offered them.
enum class tool_list {
    exact,  ///< Those that are offered now.
    append, ///< Also those that were offered before; a call of such a tool gets an error result.
};

/// `agents[].instructions_refresh`: the effect of new values in the instructions, and of new data
/// whose place is `system`.
enum class instructions_refresh {
    append,  ///< The system text stays, and the new message tells them.
    rewrite, ///< The system text is made anew in each user turn.
};

} // namespace agui::gateway
