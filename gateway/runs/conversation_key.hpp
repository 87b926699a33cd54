#pragma once

#include "session/conversation/thread.hpp"

#include <compare>
#include <string_view>

namespace agui::gateway {

/// A conversation of this process: a thread of the store, or an ephemeral one of the same name
/// (forwardedProps.ephemeral). The two are unrelated.
struct conversation_key {
    session::thread_key thread;
    bool ephemeral = false;

    friend auto operator<=>(const conversation_key&, const conversation_key&) = default;
};

/// Holds a thread for the server itself: no run has this id, and no run is reported as its holder.
inline constexpr std::string_view server_itself;

} // namespace agui::gateway
