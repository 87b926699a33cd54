#include "runner/loop/said_answer.hpp"

#include <algorithm>
#include <utility>

namespace agui::runner {

using session::call_record;

said_answer take_answer(std::optional<model_turn>& turn, const std::string& run_id) {
    said_answer said;
    for (const model_turn::call& call : turn.value().calls()) {
        said.calls.push_back(
            {call.id, call.name, run_id, call.owner, session::call_status::open, {}}
        );
    }
    said.messages = turn->take_messages();
    turn.reset();
    return said;
}

session::changes to_change(const conversation& thread, said_answer said) {
    branch_growth growing = thread.growth();
    for (session::message& message : said.messages) {
        const std::vector<session::tool_call> held = message.tool_calls;
        const bool is_answer = message.role == session::role::assistant;
        const std::string id = message.id;
        const session::node_index node = thread.append(growing, std::move(message));
        for (const session::tool_call& call : held) {
            const auto record = std::ranges::find(said.calls, call.id, &call_record::id);
            if (record != said.calls.end()) {
                record->made_in = node;
                growing.change.calls.push_back(*record);
            }
        }
        if (is_answer) {
            thread.add_event(growing.change, "assistant.message", {{"messageId", id}});
        }
    }
    return thread.take(std::move(growing));
}

} // namespace agui::runner
