// The part of run_streams that handles activities, restated history and subagents.

#include "session/base/json_member.hpp"
#include "translator/verifier/verifier_chunks.hpp"
#include "translator/verifier/verifier_streams.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

namespace agui::translator {

violation run_streams::activity_snapshot(const object& event) {
    return enter(event, "activity", {});
}

violation run_streams::activity_delta(const object& event) {
    const std::string_view id = string_in(event, "messageId");
    if (!messages_.contains(id)) {
        return wrong("S16", id, "is changed before its ACTIVITY_SNAPSHOT");
    }
    return enter(event, "activity", {});
}

violation run_streams::messages_snapshot(const object& event) {
    id_set seen;
    for (const auto& message : event.at("messages").as_array()) {
        const std::string_view id = string_in(message.as_object(), "id");
        if (!seen.emplace(id).second) {
            return wrong("O4", id, "appears twice in a snapshot");
        }
        if (auto found = restate(message.as_object(), true)) {
            return found;
        }
    }
    return std::nullopt;
}

violation run_streams::seed(const object& run_started) {
    const auto* input = run_started.if_contains("input");
    if (input == nullptr) {
        return std::nullopt;
    }
    for (const auto& message : input->at("messages").as_array()) {
        if (auto found = restate(message.as_object(), false)) {
            return found;
        }
    }
    return std::nullopt;
}

violation run_streams::restate(const object& message, bool overwrite) {
    const std::string id(string_in(message, "id"));
    const std::string role(string_in(message, "role"));
    const std::string owner(string_in(message, "subagentRunId"));
    const auto [known, fresh] = messages_.try_emplace(
        id, message_info{role, std::string(string_in(message, "name")), owner, false}
    );
    if (!fresh && known->second.role != role) {
        return wrong("O4", id, "is restated with another role than " + known->second.role);
    }
    if (overwrite) {
        known->second.owner = owner;
    }
    if (const auto* calls = message.if_contains("toolCalls")) {
        for (const auto& call : calls->as_array()) {
            const object& fields = call.as_object();
            const auto entry = calls_.try_emplace(
                std::string(string_in(fields, "id")), call_info{owner, false, false}
            );
            if (overwrite) {
                entry.first->second.owner = owner;
            }
        }
    }
    if (role == "tool") {
        const auto call = calls_.find(string_in(message, "toolCallId"));
        if (call != calls_.end()) {
            call->second.answered = true;
        }
    }
    return std::nullopt;
}

violation run_streams::subagent_started(const object& event) {
    const std::string id(string_in(event, "subagentRunId"));
    const std::string_view parent = string_in(event, "parentSubagentRunId");
    if (active_subagents_.contains(id)) {
        return wrong("V25", id, "is active already");
    }
    if (started_subagents_.contains(id)) {
        return wrong("V25", id, "has finished in this run already");
    }
    if (!parent.empty() && !started_subagents_.contains(parent)) {
        return wrong("V25", parent, "was never started in this run");
    }
    active_subagents_.insert(id);
    started_subagents_.insert(id);
    served_calls_.insert_or_assign(id, std::string(string_in(event, "parentToolCallId")));
    return std::nullopt;
}

violation run_streams::subagent_finished(const object& event) {
    const std::string id(string_in(event, "subagentRunId"));
    if (active_subagents_.erase(id) == 0) {
        return wrong("V26", id, "is not active");
    }
    const auto* outcome = event.if_contains("outcome");
    const object* const members = outcome == nullptr ? nullptr : outcome->if_object();
    const auto call = calls_.find(served_calls_[id]);
    if (members != nullptr && string_in(*members, "type") == "suspended" && call != calls_.end()) {
        call->second.suspended = true;
    }
    return std::nullopt;
}

} // namespace agui::translator
