#include "agent_run.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace externaltool {

namespace json = boost::json;

namespace {

std::string text_at(const json::object& object, std::string_view key) {
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string{value->get_string()}
                                                  : std::string{};
}

call* find_call(agent_run& of, std::string_view id) {
    const auto found = std::ranges::find(of.calls, id, &call::id);
    return found == of.calls.end() ? nullptr : &*found;
}

void take_outcome(agent_run& into, const json::object& event) {
    into.outcome = "success";
    const auto* outcome = event.if_contains("outcome");
    if (outcome == nullptr || !outcome->is_object()) {
        return;
    }
    into.outcome = text_at(outcome->get_object(), "type");
    const auto* ids = outcome->get_object().if_contains("pendingToolCallIds");
    if (ids != nullptr && ids->is_array()) {
        into.pending_ids.emplace();
        for (const auto& id : ids->get_array()) {
            if (id.is_string()) {
                into.pending_ids->emplace_back(id.get_string());
            }
        }
    }
}

} // namespace

void take_event(agent_run& into, const json::object& event) {
    const auto type = text_at(event, "type");
    if (type == "TOOL_CALL_START") {
        // A known call may be reopened and continue (AG-UI rule S9).
        if (find_call(into, text_at(event, "toolCallId")) == nullptr) {
            into.calls.push_back(
                {text_at(event, "toolCallId"), text_at(event, "toolCallName"), {}, false}
            );
        }
    } else if (type == "TOOL_CALL_ARGS") {
        if (auto* of = find_call(into, text_at(event, "toolCallId"))) {
            of->arguments += text_at(event, "delta");
        }
    } else if (type == "TOOL_CALL_RESULT") {
        if (auto* of = find_call(into, text_at(event, "toolCallId"))) {
            of->answered = true;
        }
    } else if (type == "TEXT_MESSAGE_CONTENT") {
        into.text += text_at(event, "delta");
    } else if (type == "CUSTOM" && text_at(event, "name") == "agui-gateway.run.stopped") {
        const auto* value = event.if_contains("value");
        into.stop_reason =
            value != nullptr && value->is_object() ? text_at(value->get_object(), "reason") : "";
    } else if (type == "RUN_FINISHED") {
        take_outcome(into, event);
    } else if (type == "RUN_ERROR") {
        throw gateway_error{text_at(event, "code") + ": " + text_at(event, "message")};
    }
}

std::vector<call> pending_calls(const agent_run& of) {
    std::vector<call> pending;
    std::ranges::copy_if(of.calls, std::back_inserter(pending), [&](const call& each) {
        return of.pending_ids ? std::ranges::count(*of.pending_ids, each.id) > 0 : !each.answered;
    });
    return pending;
}

std::string describe_refusal(const reply& refusal) {
    auto text = "HTTP " + std::to_string(refusal.status);
    boost::system::error_code not_json;
    const auto body = json::parse(refusal.body, not_json);
    const auto* error =
        !not_json && body.is_object() ? body.get_object().if_contains("error") : nullptr;
    if (error == nullptr || !error->is_object()) {
        return text + " (not the gateway's JSON: is this its address?)";
    }
    const auto& details = error->get_object();
    text += " " + text_at(details, "code") + ": " + text_at(details, "message");
    const auto path = text_at(details, "path");
    return path.empty() ? text : text + " (" + path + ")";
}

} // namespace externaltool
