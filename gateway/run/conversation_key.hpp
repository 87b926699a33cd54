#pragma once

#include "session/conversation/thread.hpp"

#include <compare>

namespace agui::gateway {

/// Names a conversation: a thread in the store, or an ephemeral one (forwardedProps.ephemeral). A
/// stored and an ephemeral thread with the same name are unrelated.
struct conversation_key {
    session::thread_key thread;
    bool ephemeral = false;

    friend auto operator<=>(const conversation_key&, const conversation_key&) = default;
};

} // namespace agui::gateway
