#pragma once

#include "session/base/text_map.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace agui::session {

// Indexes for the look-ups of the history rule in a thread, built once because histories have
// thousands of messages. Views and pointers are valid as long as the thread.

/// The calls of a whole thread, and its messages that the given messages name.
class thread_index {
public:
    thread_index(const thread_record& thread, const std::vector<message>& given);

    [[nodiscard]] const call_record* find_call(std::string_view id) const;
    /// User messages with that id on all branches, ascending. `id` is that of a given message.
    [[nodiscard]] const std::vector<node_index>& users_of(std::string_view id) const;
    /// The first result of a call that a given tool message answers; nullptr if there is none.
    [[nodiscard]] const message* result_of(std::string_view call_id) const;
    /// True if a message of any kind has that id. Fast for an id of the given messages; the first
    /// other one takes time proportional to the thread.
    [[nodiscard]] bool has_message(std::string_view id);

private:
    struct messages_of_id {
        bool exist = false;
        std::vector<node_index> users;
    };

    const thread_record& thread_;
    view_map<messages_of_id> by_id_;   ///< Has all ids of the given messages,
    view_map<const message*> results_; ///< and all calls that they answer.
    view_map<const call_record*> calls_;
    std::optional<view_set> all_ids_; ///< Made when it is needed.
};

/// Positions on a branch by message id and by call id: finds a message of the input even if the
/// client has reshaped it.
class branch_index {
public:
    branch_index(const thread_record& thread, const std::vector<node_index>& path);

    /// The last position on the branch of anything that `given` holds.
    [[nodiscard]] std::optional<std::size_t> find(const message& given) const;

private:
    using positions = view_map<std::size_t>;

    positions by_id_;
    positions results_;
    positions calls_;
};

/// The match of user messages, whose ids are all unknown to a thread, with one of its branches.
struct content_match {
    std::size_t known = 0; ///< Number of leading given messages on the branch.
    std::size_t last = 0;  ///< The index of the last of them among the branch's user messages.
};

/// Finds by content the longest run of the branch's user messages that is a prefix of the given
/// ones; of several, the latest. The cost is linear in both lengths.
[[nodiscard]] content_match match_by_content(
    const thread_record& thread, const std::vector<node_index>& branch_users,
    const std::vector<const message*>& given
);

} // namespace agui::session
