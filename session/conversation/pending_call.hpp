#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace agui::session {

/// An external call that waits for its answer (pending), or a server call that waits for its
/// approval (asked), with details from the message that made it.
struct pending_call {
    call_record call;
    std::string message_id;               ///< Empty if the message cannot be found or read.
    std::optional<std::string> arguments; ///< nullopt also if the call is not in the message.
    unix_ms claimed_until = 0; ///< call_claim::until of its last claim; 0 if it has none.
};

/// A client's claim to execute a pending call, so that the user's other clients do not. It binds
/// nobody else: the first answer counts, whoever sends it.
struct call_claim {
    std::string call_id;
    std::string holder; ///< A name that the client chooses, such as one for each tab.
    unix_ms until = 0;  ///< When it expires, in the store's time.
};

/// The waiting calls among `calls`, without details: describe() adds those.
[[nodiscard]] std::vector<pending_call> pending_of(const std::vector<call_record>& calls);

/// The indexes of all elements of `pending`, ordered so that calls of one message are adjacent.
[[nodiscard]] std::vector<std::size_t> by_message(const std::vector<pending_call>& pending);

/// The part of `order` (made by by_message) that begins at index `first` and holds the calls of one
/// message. A view of `order`.
[[nodiscard]] std::span<const std::size_t> calls_of_one(
    const std::vector<pending_call>& pending, const std::vector<std::size_t>& order,
    std::size_t first
);

/// Adds details from the message `made_in` to the elements of `pending` at the indexes `calls`: the
/// calls that it made.
void describe(
    std::vector<pending_call>& pending, std::span<const std::size_t> calls, const message& made_in
);

} // namespace agui::session
