#pragma once

#include "session/history/history_index.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/history_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace agui::session {

/// The place in a known thread where a request continues. Only its user messages decide this.
struct history_place {
    std::uint32_t branch = 0;     ///< The branch it continues.
    std::vector<node_index> path; ///< The messages of that branch.
    node_index tip = no_node;     ///< Its end.
    node_index base = no_node;    ///< New messages are appended after it.
    /// Index in the input of the last user message that the branch holds.
    std::optional<std::size_t> last_known;
    std::vector<std::size_t>
        new_users;            ///< Indexes in the input of the user messages to append, ascending.
    bool regenerate = false;  ///< The input ends in a known user message.
    bool had_history = false; ///< The input holds more than the new messages.
    bool repeats = false;     ///< The input holds a message twice.

    /// Index in the input of the first message after the last known user message.
    [[nodiscard]] std::size_t first_unknown() const noexcept {
        return last_known ? *last_known + 1 : 0;
    }
};

/// `thread` must have messages; `given` belongs to `input`, `index` to `thread`.
[[nodiscard]] history_place find_place(
    const thread_record& thread, const history_input& input, const history_policy& policy,
    const input_calls& given, const thread_index& index
);

} // namespace agui::session
