#pragma once

#include "session/history/history_index.hpp"
#include "session/history/history_plan.hpp"
#include "session/history/history_rules.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace agui::session {

/// Where a request goes on in a known thread (design section 5: user messages decide it, nothing
/// else).
struct history_place {
    std::uint32_t branch = 0;     ///< The branch it is about.
    std::vector<node_index> path; ///< Of that branch.
    node_index tip = no_node;     ///< Its end.
    node_index base = no_node;    ///< What is new comes after it.
    /// Of the input: the last user message that the branch holds.
    std::optional<std::size_t> last_known;
    std::vector<std::size_t> new_users; ///< Of the input: user messages to append, ascending.
    bool regenerate = false;            ///< The input ends in a known user message.
    bool had_history = false;           ///< The input holds more than what is new.
    bool repeats = false;               ///< The input holds a message twice.

    /// Of the input: what stands after the last known user message.
    [[nodiscard]] std::size_t first_unknown() const noexcept {
        return last_known ? *last_known + 1 : 0;
    }
};

/// `thread` must have messages; `given` and `index` are of `input` and `thread`.
[[nodiscard]] history_place find_place(
    const thread_record& thread, const history_input& input, const history_policy& policy,
    const input_calls& given, const thread_index& index
);

} // namespace agui::session
