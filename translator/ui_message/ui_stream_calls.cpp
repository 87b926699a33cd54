#include "translator/ui_message/ui_stream.hpp"

#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <utility>

namespace agui::translator {

namespace json = boost::json;

// A client goes on by itself once all calls of the last step have results. So the calls of one
// answer are in one step, and those of all subagents, which run at the same time, too.
void ui_stream::take_call(std::string_view step, const json::object& fields, std::string& out) {
    constexpr std::string_view of_subagents = "\x1Fsubagents"; // No message has such an id.
    const std::string_view id = string_in(fields, "toolCallId");
    if (step == "END") {
        end_call(id, out);
        return;
    }
    const bool is_subagents = fields.contains("subagentRunId");
    begin_step(is_subagents ? of_subagents : string_in(fields, "parentMessageId"), out);
    call& made = calls_[std::string(id)];
    made.name = string_in(fields, "toolCallName");
    begin("tool-input-start");
    chunk_.member("toolCallId", id);
    chunk_.member("toolName", made.name);
    send(out);
}

void ui_stream::take_arguments(std::string_view call_id, std::string_view text) {
    if (call_id.empty()) {
        return;
    }
    if (const auto found = calls_.find(call_id); found != calls_.end()) {
        found->second.arguments.append(text);
        bytes_ += text.size();
    }
}

void ui_stream::end_call(std::string_view call_id, std::string& out) {
    const auto found = calls_.find(call_id);
    if (found == calls_.end() || found->second.ended) {
        return;
    }
    call& made = found->second;
    made.ended = true;
    const std::string text = parse_json_string('"' + made.arguments + '"').value_or(std::string());
    bytes_ -= made.arguments.size();
    std::string().swap(made.arguments);
    const auto input = ui_input(text);
    begin(input ? "tool-input-available" : "tool-input-error");
    chunk_.member("toolCallId", call_id);
    chunk_.member("toolName", made.name);
    if (input) {
        chunk_.member("input", *input);
    } else {
        chunk_.member("input", text);
        chunk_.member("errorText", std::string_view("The arguments are not valid JSON."));
    }
    send(out);
}

// Only results of the server's tools are events, also of calls that nobody can answer any more.
void ui_stream::take_result(const json::object& fields, std::string& out) {
    const std::string_view id = string_in(fields, "toolCallId");
    const json::value* const content = fields.if_contains("content");
    const auto made = calls_.find(id);
    if (content == nullptr || (made == calls_.end() && !start_.calls.contains(id))) {
        return;
    }
    if (made != calls_.end()) {
        made->second.answered = true;
        step_has_result_ = true;
    }
    const json::object message{{"id", string_in(fields, "messageId")}, {"content", *content}};
    const bool is_denied = start_.denied_calls.contains(id) || is_denial(message, id);
    const bool is_error =
        failed_calls_.contains(id) || string_in(message, "id").ends_with(":missing");
    if (is_denied) {
        begin("tool-output-denied");
        chunk_.member("toolCallId", id);
    } else {
        begin(is_error ? "tool-output-error" : "tool-output-available");
        chunk_.member("toolCallId", id);
        if (is_error) {
            chunk_.member("errorText", ui_error(*content));
        } else {
            chunk_.member("output", ui_output(*content));
        }
        chunk_.raw_member("providerExecuted", "true");
    }
    send(out);
}

// A client executes a call when its input is available. One that waits for nobody, or for a
// person's approval, gets its input as a delta instead.
void ui_stream::write_stored_call(const json::object& part, std::string& out) {
    constexpr std::size_t name_at = 5; // After "tool-".
    const std::string_view id = string_in(part, "toolCallId");
    const std::string_view name = string_in(part, "type").substr(name_at);
    const std::string_view state = string_in(part, "state");
    const auto named = [&](std::string_view type) {
        begin(type);
        chunk_.member("toolCallId", id);
    };
    const bool is_pending = state == "input-available";
    named(is_pending ? "tool-input-available" : "tool-input-start");
    chunk_.member("toolName", name);
    if (is_pending) {
        chunk_.member("input", part.at("input"));
        send(out);
        return;
    }
    send(out);
    std::string input;
    append_json(input, part.at("input"));
    named("tool-input-delta");
    chunk_.member("inputTextDelta", input);
    send(out);
    if (state == "approval-requested") {
        named("tool-approval-request");
        chunk_.member("approvalId", string_in(part.at("approval").get_object(), "id"));
    } else if (state == "output-denied") {
        named("tool-output-denied");
    } else if (state == "output-error") {
        named("tool-output-error");
        chunk_.member("errorText", string_in(part, "errorText"));
    } else {
        named("tool-output-available");
        chunk_.member("output", part.at("output"));
    }
    send(out);
}

} // namespace agui::translator
