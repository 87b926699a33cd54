#pragma once

namespace agui::gateway {

/// `agents[].context`: where the request's context goes in a model request.
enum class context_place {
    user,   ///< A leading part of the last user message.
    system, ///< After the instructions.
    off,
};

} // namespace agui::gateway
