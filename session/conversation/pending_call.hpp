#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace agui::session {

/// A call that waits for its caller, with what the message that made it says of it.
struct pending_call {
    call_record call;
    std::string message_id; ///< Empty: the message is gone.
    std::optional<std::string> arguments;
};

/// Those of `calls` that wait, still without what their messages say.
[[nodiscard]] std::vector<pending_call> pending_of(const std::vector<call_record>& calls);

/// The indexes of `pending`, with those of calls that one message made in a row.
[[nodiscard]] std::vector<std::size_t> by_message(const std::vector<pending_call>& pending);

/// The calls of one message: those in `order` from `first` on that were made in the same.
[[nodiscard]] std::span<const std::size_t> calls_of_one(
    const std::vector<pending_call>& pending, const std::vector<std::size_t>& order,
    std::size_t first
);

/// Adds what the message says to `calls`, which it made.
void describe(
    std::vector<pending_call>& pending, std::span<const std::size_t> calls, const message& made_in
);

} // namespace agui::session
