#pragma once

#include "session/conversation/thread.hpp"

#include <compare>
#include <string_view>

namespace agui::gateway {

/// Names a conversation: a thread in the store, or an ephemeral one (forwardedProps.ephemeral). Two
/// of the same name are unrelated.
struct conversation_key {
    session::thread_key thread;
    bool ephemeral = false;

    friend auto operator<=>(const conversation_key&, const conversation_key&) = default;
};

/// The run id under which the server itself holds a thread. It is empty: no run has it, and nobody
/// is told a holder.
inline constexpr std::string_view server_itself;

} // namespace agui::gateway
