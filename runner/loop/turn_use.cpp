#include "runner/loop/turn_use.hpp"

#include <algorithm>

namespace agui::runner {

namespace {

// Visits the messages of the turn, newest first, until `visit` returns false.
template <class Visit>
void walk_back(const session::thread_record& thread, session::node_index tip, Visit visit) {
    for (session::node_index at = tip; at < thread.nodes.size(); at = thread.nodes[at].parent) {
        const session::message& each = thread.nodes[at].message;
        if (session::begins_user_turn(each) || !visit(each)) {
            return;
        }
    }
}

bool is_answer(const session::message& value) noexcept {
    return value.role == session::role::assistant && value.subagent_run_id.empty();
}

} // namespace

turn_use use_of_turn(const session::thread_record& thread, session::node_index tip) {
    turn_use use;
    // An answer follows. If this answer has no calls, a plugin asked for that one.
    bool is_followed = false;
    walk_back(thread, tip, [&](const session::message& each) {
        if (each.role != session::role::assistant) {
            return true;
        }
        use.calls += static_cast<std::uint32_t>(each.tool_calls.size());
        if (!is_answer(each)) { // Of a subagent.
            use.rounds += each.tool_calls.empty() ? 0 : 1;
            use.tokens += each.origin ? each.origin->tokens : 0;
            return true;
        }
        if (each.by_plugin) {
            return true; // The answer is counted with another of its messages.
        }
        use.rounds += each.tool_calls.empty() && !is_followed ? 0 : 1;
        is_followed = true;
        if (each.origin) {
            use.tokens += each.origin->tokens;
            if (use.last_provider.empty()) {
                use.last_provider = each.origin->provider;
            }
        }
        return true;
    });
    return use;
}

std::vector<std::vector<session::tool_call>>
last_calls(const session::thread_record& thread, session::node_index tip, std::size_t most) {
    std::vector<std::vector<session::tool_call>> answers;
    std::size_t calls = 0;
    walk_back(thread, tip, [&](const session::message& each) {
        if (is_answer(each) && !each.tool_calls.empty()) {
            answers.push_back(each.tool_calls);
            calls += each.tool_calls.size();
        }
        return calls < most;
    });
    std::ranges::reverse(answers);
    return answers;
}

} // namespace agui::runner
