#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace agui::session {

// What the history rule looks up in the messages of a thread, found once: histories have thousands
// of messages. Views and pointers live as long as the thread.

/// Messages and calls of a whole thread.
struct thread_index {
    explicit thread_index(const thread_record& thread);

    [[nodiscard]] const call_record* find_call(std::string_view id) const;
    /// User messages of that id, ascending; of several branches.
    [[nodiscard]] const std::vector<node_index>& users_of(std::string_view id) const;

    std::unordered_map<std::string_view, std::vector<node_index>> users; ///< By id.
    std::unordered_map<std::string_view, const message*> results;        ///< By call id; the first.
    std::unordered_map<std::string_view, const call_record*> calls;
    std::unordered_set<std::string_view> ids; ///< Of all messages.
};

/// Positions of a branch by message id and by call id: where a message of the input is, whose shape
/// the client may have changed.
class branch_index {
public:
    branch_index(const thread_record& thread, const std::vector<node_index>& path);

    /// The last position on the branch of what `given` holds.
    [[nodiscard]] std::optional<std::size_t> find(const message& given) const;

private:
    using positions = std::unordered_map<std::string_view, std::size_t>;

    positions by_id_;
    positions results_;
    positions calls_;
};

/// How user messages that a thread knows by none of their ids lie on one of its branches.
struct content_match {
    std::size_t known = 0; ///< So many of the first ones given are on the branch.
    std::size_t last = 0;  ///< The last of them is this one of the branch's user messages.
};

/// Finds the longest row of user messages of the branch that the given ones begin with, by content;
/// of several the latest. The cost is the length of both.
[[nodiscard]] content_match match_by_content(
    const thread_record& thread, const std::vector<node_index>& branch_users,
    const std::vector<const message*>& given
);

} // namespace agui::session
