#include "session/history/message_tree.hpp"

#include "session/base/work_count.hpp"
#include "session/conversation/content_form.hpp"
#include "session/history/missing_result.hpp"

#include <algorithm>

namespace agui::session {

namespace {

bool same_call(const tool_call& left, const tool_call& right) {
    return left.id == right.id && left.name == right.name && left.arguments == right.arguments;
}

bool same_message(const message& stored, const message& given, const content_form& said) {
    count_work();
    if (stored.id != given.id || stored.role != given.role ||
        stored.subagent_run_id != given.subagent_run_id) {
        return false;
    }
    return is_only_shown(stored) ||
           (stored.tool_call_id == given.tool_call_id && stored.error == given.error &&
            std::ranges::equal(stored.tool_calls, given.tool_calls, same_call) &&
            content_form(stored.content) == said);
}

} // namespace

bool is_only_shown(const message& value) noexcept {
    return value.role == role::reasoning || value.role == role::activity ||
           !value.subagent_run_id.empty();
}

bool is_passed_over(const message& stored) {
    return is_only_shown(stored) ||
           (stored.role == role::assistant && stored.tool_calls.empty() && is_empty(stored.content)
           ) ||
           is_missing_result(stored);
}

message_tree::message_tree(const thread_record& thread)
    : thread_(thread),
      newest_child_(thread.nodes.size(), no_node),
      older_sibling_(thread.nodes.size(), no_node),
      on_head_(thread.nodes.size()) {
    for (node_index node = 0; node < thread.nodes.size(); ++node) {
        const node_index parent = thread.nodes[node].parent;
        node_index& newest = parent == no_node ? newest_root_ : newest_child_[parent];
        older_sibling_[node] = newest;
        newest = node;
    }
    if (!thread.branches.empty()) {
        for (const node_index node : thread.path(thread.branches[thread.head].tip)) {
            on_head_[node] = true;
        }
    }
}

node_index message_tree::find_next(node_index node, const message& given) const {
    const content_form said(given.content);
    node_index found = no_node;
    std::vector<node_index> parents{node};
    while (!parents.empty()) {
        const node_index parent = parents.back();
        parents.pop_back();
        node_index child = parent == no_node ? newest_root_ : newest_child_[parent];
        for (; child != no_node; child = older_sibling_[child]) {
            const message& stored = thread_.nodes[child].message;
            if (same_message(stored, given, said)) {
                if (on_head_[child]) {
                    return child;
                }
                found = found == no_node ? child : std::max(found, child);
            } else if (is_passed_over(stored)) {
                parents.push_back(child);
            }
        }
    }
    return found;
}

} // namespace agui::session
