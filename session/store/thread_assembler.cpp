#include "session/store/thread_assembler.hpp"

#include "session/store/stored_messages.hpp"

namespace agui::session {

void thread_assembler::add(stored_message&& node, std::string_view text, agui::logger& log) {
    const std::size_t number = record.nodes.size();
    if (node.parent != no_node && node.parent >= number) {
        throw std::runtime_error("the messages of the thread are not a tree");
    }
    node.parent = kept(node.parent);
    left_out_.push_back(!read_stored_message(text, record.key, number, node.message, log));
    record.nodes.push_back(std::move(node));
}

bool thread_assembler::is_same(
    stored_message node, std::string_view text, const stored_message& known, agui::logger& log
) const {
    return node.parent == known.parent && node.run_id == known.run_id &&
           node.created_at == known.created_at &&
           read_stored_message(text, record.key, record.nodes.size(), node.message, log) &&
           node.message == known.message;
}

bool thread_assembler::finish() {
    if (record.nodes.size() != message_count) {
        return false;
    }
    for (branch& held : record.branches) {
        if (held.tip != no_node && held.tip >= message_count) {
            throw std::runtime_error("a branch of the thread ends in a message that is missing");
        }
        held.tip = kept(held.tip);
    }
    return true;
}

// The message itself or, if it was left out, the nearest one before it that was not.
node_index thread_assembler::kept(node_index node) const {
    while (node != no_node && left_out_[node]) {
        node = record.nodes[node].parent;
    }
    return node;
}

} // namespace agui::session
