#pragma once

#include "session/store/thread_position.hpp"

#include "session/conversation/thread.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// A change and the texts that a store writes for it. Making it is expensive and happens on the
/// caller's thread. It is not changed afterwards: a transaction that is retried uses it again.
struct stored_change {
    explicit stored_change(changes given);

    /// The position after the change. Throws std::logic_error if the change does not fit a thread
    /// at `before` (check_change).
    [[nodiscard]] thread_position after(const thread_position& before) const;
    /// The same for a new thread, whose number is `thread`.
    [[nodiscard]] thread_position after_creation(std::int64_t thread) const;

    changes change;
    std::vector<std::string> messages; ///< The stored JSON of each.
    std::uint64_t message_bytes = 0;
    std::vector<std::string> events; ///< The JSON of the data of each.
    // The JSON of these members of `change`; nullopt if they do not change.
    std::optional<std::string_view> metadata;
    std::optional<std::string_view> state;
    std::optional<std::string> offered_tools;
    std::optional<std::string> context;
};

} // namespace agui::session
