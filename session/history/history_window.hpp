#pragma once

#include "session/conversation/message.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agui::session {

/// Limits on the part of a conversation that a model is sent; 0 for no limit.
struct history_window {
    std::size_t max_messages = 0;
    std::uint64_t max_tokens = 0; ///< Counted by estimated_tokens().

    [[nodiscard]] bool limited() const noexcept { return max_messages > 0 || max_tokens > 0; }
};

/// Estimates the tokens of a message: one for four bytes of text, arguments and names, 4 for the
/// message, and 1000 for each media part. Model servers count differently, so leave room.
[[nodiscard]] std::uint64_t estimated_tokens(const message& value);

/// Drops the oldest turns, so that the rest is within the window. A turn begins with the user's
/// message (begins_user_turn()) and is dropped or kept as a whole: no call is separated from its
/// result. Turns are dropped in blocks of half the window, counted from the start of the
/// conversation, so that successive requests begin alike until a whole block goes, and a provider's
/// prompt cache remains useful. A long turn may make a block larger than the window. Then smaller
/// blocks are dropped, down to single turns. The messages before the first turn and the last turn
/// are always kept, even if they exceed the window. The newest context, state and values that were
/// told with dropped messages are told with the first message after them.
///
/// Pure. Repair the history first, because a repair may add results.
[[nodiscard]] std::vector<message>
within_window(std::vector<message> messages, const history_window& window);

} // namespace agui::session
