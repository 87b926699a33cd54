#include "session/history/history_rules.hpp"

#include "session/base/contains.hpp"
#include "session/base/work_count.hpp"
#include "session/history/missing_result.hpp"
#include "session/history/prompt_fold.hpp"
#include "session/history/subagent.hpp"
#include "session/history/turn_failure.hpp"

#include <algorithm>
#include <utility>

namespace agui::session {

std::optional<client_history> client_history_from_string(std::string_view name) noexcept {
    if (name == "auto") {
        return client_history::automatic;
    }
    if (name == "full") {
        return client_history::full;
    }
    return name == "delta" ? std::optional(client_history::delta) : std::nullopt;
}

bool is_user(const message& value) noexcept {
    return value.role == role::user && value.subagent_run_id.empty();
}

std::size_t end_without_notes(const thread_record& thread, const std::vector<node_index>& path) {
    std::size_t end = path.size();
    const auto is_note = [&](node_index node) {
        const message& stored = thread.nodes[node].message;
        return is_failure_note(stored) || is_input_note(stored);
    };
    while (end > 0 && is_note(path[end - 1])) {
        --end;
    }
    return end;
}

input_calls::input_calls(const std::vector<message>& messages) {
    for (const message& given : messages) {
        count_work(1 + given.tool_calls.size());
        if (given.role == role::assistant) {
            for (const tool_call& call : given.tool_calls) {
                made.try_emplace(call.id, given_call{&call, &given});
            }
        } else if (given.role == role::tool && !is_missing_result(given)) {
            answers.try_emplace(given.tool_call_id, &given);
        }
    }
    trailing = messages.size();
    while (trailing > 0 && messages[trailing - 1].role == role::tool) {
        --trailing;
    }
}

failure unknown_call(std::size_t index) {
    return failure{
        errc::unknown_tool_call,
        "this thread has no tool call with this id",
        "messages[" + std::to_string(index) + "].toolCallId",
        {}
    };
}

failure other_tool_named(std::size_t index) {
    return failure{
        errc::tool_name_mismatch,
        "the tool name differs from that of the call",
        "messages[" + std::to_string(index) + "].name",
        {}
    };
}

bool is_offered(const thread_record& thread, const history_input& input, std::string_view tool) {
    if (std::ranges::find(input.configured_external_tools, tool) !=
        input.configured_external_tools.end()) {
        return true;
    }
    if (input.offered_tools) {
        return contains(*input.offered_tools, tool);
    }
    count_work(thread.offered_tools.size());
    return std::ranges::any_of(thread.offered_tools, [&](const boost::json::value& offered) {
        const auto* object = offered.if_object();
        return object != nullptr && !is_kept_tool(offered) && name_of_tool(*object) == tool;
    });
}

result<open_call_verdict> judge_open_calls(
    const std::vector<const call_record*>& open, const open_call_case& given,
    const thread_record& thread, const history_input& input, const history_policy& policy
) {
    if (given.goes_on) {
        if (policy.on_abandoned == on_abandoned::reject) {
            return failure{
                errc::pending_tool_calls,
                "this thread has tool calls that are waiting for an answer",
                {},
                {}
            };
        }
        return open_call_verdict::abandon;
    }
    if (!given.answered && !given.own_pair_at_end) {
        return open_call_verdict::wait;
    }
    switch (policy.on_partial) {
    case on_partial::reject:
        if (given.answered) {
            return failure{errc::partial_tool_answers, "some pending tool calls have no answer"};
        }
        return open_call_verdict::wait;
    case on_partial::proceed:
        return open_call_verdict::abandon;
    case on_partial::wait:
        return open_call_verdict::wait;
    case on_partial::automatic:
        break;
    }
    // A full history that offers none of the tools comes from a client that will not answer.
    const bool nobody_answers =
        given.whole_history && std::ranges::none_of(open, [&](const call_record* call) {
            return is_offered(thread, input, call->name);
        });
    return nobody_answers ? open_call_verdict::abandon : open_call_verdict::wait;
}

node_index plan_writer::next_node() const noexcept {
    return static_cast<node_index>(thread_.nodes.size() + plan_.change.messages.size());
}

void plan_writer::append(message value) {
    count_work();
    const node_index here = next_node();
    stored_message node;
    node.parent = tip_;
    node.message = std::move(value);
    drop_failure(node.message);
    plan_.change.messages.push_back(std::move(node));
    tip_ = here;
}

void plan_writer::set_call(call_record record) {
    std::vector<call_record>& changed = plan_.change.calls;
    const auto [known, is_new] = call_changes_.try_emplace(record.id, changed.size());
    if (is_new) {
        changed.push_back(std::move(record));
    } else {
        changed[known->second] = std::move(record);
    }
}

void plan_writer::set_status(const call_record& call, call_status status) {
    call_record changed = call;
    changed.status = status;
    set_call(std::move(changed));
}

void plan_writer::give_to_run(call_record call) {
    call.run_id.clear();
    call.status = call_status::open;
    set_call(std::move(call));
}

void plan_writer::continue_subagents(const std::function<bool(const call_record&)>& is_here) {
    const auto has = [&](const call_record& call, auto... any_of) {
        const call_status status = status_of(call);
        return is_here(call) && ((status == any_of) || ...);
    };
    if (std::ranges::none_of(thread_.calls, [&](const call_record& call) {
            return has(call, call_status::suspended);
        })) {
        return;
    }
    const text_set waiting = agent_calls_of(thread_, [&](const call_record& call) {
        return has(call, call_status::pending, call_status::asked);
    });
    const text_set executing = agent_calls_of(thread_, [&](const call_record& call) {
        return has(call, call_status::approved);
    });
    for (const call_record& call : thread_.calls) {
        if (has(call, call_status::suspended) &&
            (!waiting.contains(call.id) || executing.contains(call.id))) {
            give_to_run(call);
        }
    }
}

call_status plan_writer::status_of(const call_record& call) const {
    const auto known = call_changes_.find(call.id);
    return known == call_changes_.end() ? call.status : plan_.change.calls[known->second].status;
}

std::optional<message> plan_writer::settle(const judged_answer& answer, call_record call) {
    call.status = answer.becomes;
    if (answer.becomes == call_status::approved) {
        call.run_id.clear(); // It becomes a call of the request's run.
        if (!answer.inputs.empty()) {
            keep_input(answer);
        }
        plan_.approved.push_back({call.id, answer.arguments, answer.digest, answer.inputs});
        set_call(std::move(call));
        return std::nullopt;
    }
    set_call(std::move(call));
    message result = refused_result(answer);
    plan_.refused_calls.push_back({answer.call->id, result.id});
    return result;
}

void plan_writer::keep_input(const judged_answer& answer) {
    if (tip_ == no_node) {
        return; // No branch has the call.
    }
    const std::size_t stored = thread_.nodes.size();
    const stored_message& before =
        tip_ < stored ? thread_.nodes[tip_] : plan_.change.messages[tip_ - stored];
    message note =
        answer_note(before.message.id, answer.call->id, answer.inputs.back(), answer.digest);
    note.subagent_run_id = thread_.nodes[answer.call->made_in].message.subagent_run_id;
    append(std::move(note));
}

void plan_writer::warn(std::string_view text) {
    if (!contains(plan_.warnings, text)) {
        plan_.warnings.emplace_back(text);
    }
}

} // namespace agui::session
