#include "translator/verifier/verifier_streams.hpp"

#include "session/base/json_member.hpp"
#include "translator/verifier/verifier_chunks.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>

namespace agui::translator {
namespace {

using json_object = boost::json::object;

std::string_view tag_of(const json_object& event) { return string_in(event, "subagentRunId"); }

/// Returns true if the event has a tag other than the owner's.
bool disagrees(const json_object& event, std::string_view owner) {
    return event.contains("subagentRunId") && tag_of(event) != owner;
}

violation foreign(std::string_view id) {
    return wrong("V27", id, "belongs to another agent than the event's subagentRunId");
}

} // namespace

violation run_streams::apply(const object& event) {
    using handler = violation (run_streams::*)(const object&);
    static constexpr std::pair<std::string_view, handler> handlers[] = {
        {"TEXT_MESSAGE_START", &run_streams::text_start},
        {"TEXT_MESSAGE_CONTENT", &run_streams::text_content},
        {"TEXT_MESSAGE_END", &run_streams::text_end},
        {"TOOL_CALL_START", &run_streams::call_start},
        {"TOOL_CALL_ARGS", &run_streams::call_args},
        {"TOOL_CALL_END", &run_streams::call_end},
        {"TOOL_CALL_RESULT", &run_streams::call_result},
        {"STEP_STARTED", &run_streams::step_started},
        {"STEP_FINISHED", &run_streams::step_finished},
        {"REASONING_START", &run_streams::reasoning_start},
        {"REASONING_END", &run_streams::reasoning_end},
        {"REASONING_MESSAGE_START", &run_streams::reasoning_message_start},
        {"REASONING_MESSAGE_CONTENT", &run_streams::reasoning_message_content},
        {"REASONING_MESSAGE_END", &run_streams::reasoning_message_end},
        {"REASONING_ENCRYPTED_VALUE", &run_streams::encrypted_value},
        {"ACTIVITY_SNAPSHOT", &run_streams::activity_snapshot},
        {"ACTIVITY_DELTA", &run_streams::activity_delta},
        {"MESSAGES_SNAPSHOT", &run_streams::messages_snapshot},
        {"SUBAGENT_STARTED", &run_streams::subagent_started},
        {"SUBAGENT_FINISHED", &run_streams::subagent_finished},
        {"SUBAGENT_ERROR", &run_streams::subagent_finished},
    };
    at_start_ = at_start_ && string_in(event, "type") == "TOOL_CALL_RESULT";
    for (const auto& [type, handle] : handlers) {
        if (type == string_in(event, "type")) {
            return (this->*handle)(event);
        }
    }
    return std::nullopt;
}

violation run_streams::check_closed(bool finished) const {
    const auto open =
        [finished](std::string_view rule, std::string_view what, std::string_view id) {
            return wrong(
                finished ? rule : "O3", finished ? "RUN_FINISHED" : "RUN_ERROR",
                "while " + std::string(what) + " " + std::string(id) + " is open"
            );
        };
    if (!open_steps_.empty()) {
        return open("V5", "step", open_steps_.begin()->second);
    }
    if (!open_texts_.empty()) {
        return open("V6", "text message", *open_texts_.begin());
    }
    if (!open_reasoning_.empty()) {
        return open("V7", "reasoning message", *open_reasoning_.begin());
    }
    if (!open_spans_.empty()) {
        return open("V8", "reasoning", open_spans_.begin()->first);
    }
    for (const auto& [id, call] : calls_) {
        if (call.open) {
            return open("V9", "tool call", id);
        }
    }
    if (!active_subagents_.empty()) {
        return open("V10", "subagent", *active_subagents_.begin());
    }
    return std::nullopt;
}

std::vector<std::string> run_streams::unanswered() const {
    std::vector<std::string> out;
    std::copy_if(
        call_order_.begin(), call_order_.end(), std::back_inserter(out),
        [this](const std::string& id) {
            const call_info& call = calls_.find(id)->second;
            return !call.answered && !call.suspended;
        }
    );
    return out;
}

// ---- Text ---------------------------------------------------------------------------------------

/// A message begins, or is reopened after its END. One id means one message of one kind (O4, S9).
violation run_streams::enter(const object& event, std::string_view role, std::string_view name) {
    const std::string id(string_in(event, "messageId"));
    const auto [found, fresh] = messages_.try_emplace(
        id, message_info{std::string(role), std::string(name), std::string(tag_of(event)), true}
    );
    message_info& known = found->second;
    if (fresh) {
        return std::nullopt;
    }
    if (known.role != role) {
        return wrong("O4", id, "is the id of another message, with the role " + known.role);
    }
    if (known.streamed && known.name != name) {
        return wrong("S9", id, "is reopened with another name");
    }
    if (disagrees(event, known.owner)) {
        return foreign(id);
    }
    known.streamed = true;
    known.name = name;
    return std::nullopt;
}

violation run_streams::text_start(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    if (open_texts_.contains(id)) {
        return wrong("V11", id, "is open already");
    }
    for (const auto& [span, owner] : open_spans_) {
        if (owner == tag_of(event)) {
            return wrong("O6", id, "begins while the reasoning " + span + " is open");
        }
    }
    const std::string_view role = string_in(event, "role");
    if (auto found = enter(event, role.empty() ? "assistant" : role, string_in(event, "name"))) {
        return found;
    }
    open_texts_.emplace(id);
    return std::nullopt;
}

violation run_streams::text_content(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    if (!open_texts_.contains(id)) {
        return wrong("V12", id, "is not open");
    }
    return disagrees(event, messages_.find(id)->second.owner) ? foreign(id) : violation();
}

violation run_streams::text_end(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    if (!open_texts_.contains(id)) {
        return wrong("V13", id, "is not open");
    }
    if (disagrees(event, messages_.find(id)->second.owner)) {
        return foreign(id);
    }
    open_texts_.erase(open_texts_.find(id));
    return std::nullopt;
}

// ---- Tool calls ---------------------------------------------------------------------------------

violation run_streams::check_parent(const std::string& parent, const std::string& owner) const {
    const auto known = messages_.find(parent);
    if (known == messages_.end()) {
        return std::nullopt;
    }
    if (known->second.role != "assistant") {
        return wrong("O4", parent, "cannot hold a call: its role is " + known->second.role);
    }
    if (!owner.empty() && owner != known->second.owner) {
        return wrong("V28", parent, "is a message of another agent than the call's");
    }
    return std::nullopt;
}

violation run_streams::call_start(const object& event) {
    const std::string id(string_in(event, "toolCallId"));
    const std::string parent(string_in(event, "parentMessageId"));
    const std::string tag(tag_of(event));
    if (const auto known = calls_.find(id); known != calls_.end()) {
        // The specification (S9) lets a call be reopened; a page that acts on its END would act
        // again.
        return known->second.open ? wrong("V14", id, "is open already")
                                  : wrong("O7", id, "is started a second time");
    }
    if (auto found = check_parent(parent, tag)) {
        return found;
    }
    // Clients create the message that holds the call, with the call's id if the call names none.
    const std::string holder = parent.empty() ? id : parent;
    messages_.try_emplace(holder, message_info{"assistant", "", tag, false});
    calls_.emplace(id, call_info{tag, true, false});
    call_order_.push_back(id);
    return std::nullopt;
}

violation run_streams::call_args(const object& event) {
    const std::string_view id = string_in(event, "toolCallId");
    const auto known = calls_.find(id);
    if (known == calls_.end() || !known->second.open) {
        return wrong("V15", id, "is not open");
    }
    return disagrees(event, known->second.owner) ? foreign(id) : violation();
}

violation run_streams::call_end(const object& event) {
    const std::string_view id = string_in(event, "toolCallId");
    const auto known = calls_.find(id);
    if (known == calls_.end() || !known->second.open) {
        return wrong("V16", id, "is not open");
    }
    if (disagrees(event, known->second.owner)) {
        return foreign(id);
    }
    known->second.open = false;
    return std::nullopt;
}

violation run_streams::call_result(const object& event) {
    const std::string_view id = string_in(event, "toolCallId");
    auto known = calls_.find(id);
    if (known == calls_.end() && at_start_ && !event.contains("role")) {
        known = calls_.emplace(std::string(id), call_info()).first;
    }
    if (known == calls_.end()) {
        return wrong("O5", id, "has a result, but this run neither made nor restated the call");
    }
    if (known->second.open) {
        return wrong("O5", id, "has a result before its TOOL_CALL_END");
    }
    if (known->second.answered) {
        return wrong("O5", id, "has a second result");
    }
    if (disagrees(event, known->second.owner)) {
        return foreign(id);
    }
    const std::string message(string_in(event, "messageId"));
    const bool fresh =
        messages_.emplace(message, message_info{"tool", "", known->second.owner, false}).second;
    if (!fresh) {
        return wrong("O4", message, "is the id of another message");
    }
    known->second.answered = true;
    return std::nullopt;
}

// ---- Steps --------------------------------------------------------------------------------------

violation run_streams::step_started(const object& event) {
    const std::string name(string_in(event, "stepName"));
    const bool fresh = open_steps_.emplace(std::string(tag_of(event)), name).second;
    return fresh ? violation() : wrong("V17", name, "is open already");
}

violation run_streams::step_finished(const object& event) {
    const std::string name(string_in(event, "stepName"));
    if (open_steps_.erase({std::string(tag_of(event)), name}) > 0) {
        return std::nullopt;
    }
    const bool elsewhere =
        std::any_of(open_steps_.begin(), open_steps_.end(), [&](const auto& step) {
            return step.second == name;
        });
    return wrong("V18", name, elsewhere ? "is open, but of another agent" : "is not open");
}

// ---- Reasoning ----------------------------------------------------------------------------------

violation run_streams::reasoning_start(const object& event) {
    const std::string id(string_in(event, "messageId"));
    if (open_spans_.contains(id)) {
        return wrong("V19", id, "is open already");
    }
    const auto owner = span_owners_.try_emplace(id, tag_of(event)).first;
    if (disagrees(event, owner->second)) {
        return foreign(id);
    }
    open_spans_.emplace(id, owner->second);
    return std::nullopt;
}

violation run_streams::reasoning_end(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    const auto span = open_spans_.find(id);
    if (span == open_spans_.end()) {
        return wrong("V22", id, "is not open");
    }
    const std::string owner = span->second;
    if (disagrees(event, owner)) {
        return foreign(id);
    }
    open_spans_.erase(span);
    const bool spans_left =
        std::any_of(open_spans_.begin(), open_spans_.end(), [&](const auto& left) {
            return left.second == owner;
        });
    for (const std::string& message : open_reasoning_) {
        if (!spans_left && messages_.find(message)->second.owner == owner) {
            return wrong("O6", message, "is open while its reasoning ends");
        }
    }
    return std::nullopt;
}

violation run_streams::reasoning_message_start(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    if (open_reasoning_.contains(id)) {
        return wrong("V20", id, "is open already");
    }
    const bool inside = std::any_of(open_spans_.begin(), open_spans_.end(), [&](const auto& span) {
        return !disagrees(event, span.second);
    });
    if (!inside) {
        return wrong("O6", id, "is outside of REASONING_START and REASONING_END");
    }
    if (auto found = enter(event, "reasoning", {})) {
        return found;
    }
    open_reasoning_.emplace(id);
    return std::nullopt;
}

violation run_streams::reasoning_message_content(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    if (!open_reasoning_.contains(id)) {
        return wrong("V21", id, "is not open");
    }
    return disagrees(event, messages_.find(id)->second.owner) ? foreign(id) : violation();
}

violation run_streams::reasoning_message_end(const object& event) {
    if (auto found = reasoning_message_content(event)) {
        return found;
    }
    open_reasoning_.erase(open_reasoning_.find(string_in(event, "messageId")));
    return std::nullopt;
}

violation run_streams::encrypted_value(const object& event) {
    const std::string_view id = string_in(event, "entityId");
    if (string_in(event, "subtype") == "tool-call") {
        const auto call = calls_.find(id);
        return call != calls_.end() && disagrees(event, call->second.owner) ? foreign(id)
                                                                            : violation();
    }
    const auto message = messages_.find(id);
    return message != messages_.end() && disagrees(event, message->second.owner) ? foreign(id)
                                                                                 : violation();
}

} // namespace agui::translator
