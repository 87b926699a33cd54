#pragma once

namespace agui::gateway {

/// `agents[].context` and `agents[].state`: where the request's context, and the thread's state, go
/// in a model request.
enum class context_place {
    user,   ///< A leading part of the last user message.
    system, ///< After the instructions.
    off,
};

} // namespace agui::gateway
