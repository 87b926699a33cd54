#pragma once

#include "session/conversation/thread.hpp"

#include <vector>

namespace agui::session {

// Finds the messages of a client's history among those of its thread.

/// A message that is shown to people and never to a model: clients may send it back, change it, or
/// leave it out.
[[nodiscard]] bool is_only_shown(const message& value) noexcept;

/// A stored message that the client's history need not hold, such as the result of a call that was
/// not approved, which the import leaves out. It never holds an answer without text and calls,
/// which is stored for the model's server (turn_end::paused, media): the import drops it.
[[nodiscard]] bool is_passed_over(const message& stored);

/// The messages of a thread as a tree that can be walked from parent to child.
class message_tree {
public:
    /// `thread` must outlive the tree and stay unchanged.
    explicit message_tree(const thread_record& thread);

    /// The message after `node` (no_node: the first message) that equals `given`, skipping those
    /// that the client need not know. Of several, the one on the head branch, otherwise the newest.
    /// no_node if there is none.
    [[nodiscard]] node_index find_next(node_index node, const message& given) const;

private:
    const thread_record& thread_;
    std::vector<node_index> newest_child_;
    std::vector<node_index> older_sibling_;
    std::vector<bool> on_head_;
    node_index newest_root_ = no_node;
};

} // namespace agui::session
