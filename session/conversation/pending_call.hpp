#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace agui::session {

/// An external call that waits for its answer, with its details from the message that made it.
struct pending_call {
    call_record call;
    std::string message_id; ///< Empty: the message no longer exists.
    std::optional<std::string> arguments;
};

/// The pending ones of `calls`, not yet with the details from their messages.
[[nodiscard]] std::vector<pending_call> pending_of(const std::vector<call_record>& calls);

/// The indexes of `pending`, ordered so that calls of the same message are adjacent.
[[nodiscard]] std::vector<std::size_t> by_message(const std::vector<pending_call>& pending);

/// The calls of one message: those in `order`, starting at `first`, that the same message made.
[[nodiscard]] std::span<const std::size_t> calls_of_one(
    const std::vector<pending_call>& pending, const std::vector<std::size_t>& order,
    std::size_t first
);

/// Adds the details from the message to `calls`, which it made.
void describe(
    std::vector<pending_call>& pending, std::span<const std::size_t> calls, const message& made_in
);

} // namespace agui::session
