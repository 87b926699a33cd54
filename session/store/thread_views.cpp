#include "session/store/thread_views.hpp"

#include "session/base/work_count.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace agui::session {

thread_summary summary_of(const thread_record& thread) {
    return {
        .key = thread.key,
        .agent_id = thread.agent_id,
        .title = thread.title,
        .archived = thread.archived,
        .metadata = thread.metadata,
        .created_at = thread.created_at,
        .updated_at = thread.updated_at,
        .last_run_at = thread.last_run_at,
        .active_run_id = {},
        .bytes = thread.bytes,
        .documents = thread.documents,
        .shared_id = {},
        .right = access_right::read,
    };
}

std::vector<pending_call> pending_calls_of(const thread_record& thread) {
    std::vector<pending_call> pending = pending_of(thread.calls);
    const std::vector<std::size_t> order = by_message(pending);
    for (std::size_t next = 0; next < order.size();) {
        const std::span<const std::size_t> calls = calls_of_one(pending, order, next);
        const node_index made_in = pending[calls.front()].call.made_in;
        if (made_in < thread.nodes.size()) {
            describe(pending, calls, thread.nodes[made_in].message);
        }
        next += calls.size();
    }
    return pending;
}

// One pass is enough: a message comes after its parent.
std::vector<branch_summary> branches_of(const thread_record& thread) {
    std::vector<std::uint32_t> depths;
    depths.reserve(thread.nodes.size());
    for (const stored_message& each : thread.nodes) {
        count_work();
        depths.push_back(each.parent == no_node ? 1 : depths[each.parent] + 1);
    }
    std::vector<branch_summary> summaries;
    for (const branch& each : thread.branches) {
        branch_summary& summary = summaries.emplace_back();
        summary.updated_at = each.updated_at;
        summary.is_head = summaries.size() - 1 == thread.head;
        if (each.tip != no_node) {
            summary.message_count = depths[each.tip];
            summary.last_message_id = thread.nodes[each.tip].message.id;
        }
    }
    return summaries;
}

} // namespace agui::session
