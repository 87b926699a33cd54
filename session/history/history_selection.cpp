#include "session/history/history_selection.hpp"

#include "session/base/text_map.hpp"
#include "session/history/prompt_fold.hpp"
#include "session/history/refused_turns.hpp"

#include <cstddef>
#include <string_view>

namespace agui::session {

namespace {

using id_set = view_set;

void add_reasoning_ids(id_set& to, const message& answer) {
    if (!answer.origin || is_withdrawn(answer)) {
        return;
    }
    for (const turn_block& block : answer.origin->blocks) {
        if (block.what == turn_block::kind::reasoning) {
            to.insert(block.id);
        }
    }
}

bool is_selected(const message& value, const id_set& named_reasoning) {
    if (!value.subagent_run_id.empty() || value.role == role::activity || is_withdrawn(value)) {
        return false;
    }
    return value.role != role::reasoning || named_reasoning.contains(value.id);
}

} // namespace

call_statuses statuses_of(const thread_record& thread) {
    call_statuses statuses;
    statuses.reserve(thread.calls.size());
    for (const call_record& call : thread.calls) {
        statuses.emplace(call.id, call.status);
    }
    return statuses;
}

history_selection select_history(const thread_record& thread, node_index tip) {
    const std::vector<node_index> path = thread.path(tip);
    id_set named_reasoning;
    for (const node_index node : path) {
        add_reasoning_ids(named_reasoning, thread.nodes[node].message);
    }
    const std::vector<refused_part> refused = refused_parts(thread, path);
    history_selection selected;
    selected.messages.reserve(path.size());
    for (std::size_t at = 0; at < path.size(); ++at) {
        const message& stored = thread.nodes[path[at]].message;
        const bool is_left_out =
            stored.role == role::reasoning && refused[at] == refused_part::whole;
        if (is_selected(stored, named_reasoning) && !is_left_out) {
            message& value = selected.messages.emplace_back(stored);
            leave_out(refused[at], value);
            if (refused[at] == refused_part::whole) {
                value.prompt = nullptr;
            }
            if (value.role == role::assistant && value.for_model) {
                value.content = *value.for_model; // Must precede the window, which counts it.
                value.for_model = nullptr;
            }
        }
    }
    drop_replaced_records(selected.messages);
    selected.calls = statuses_of(thread);
    return selected;
}

} // namespace agui::session
