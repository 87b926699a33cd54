#include "translator/ui_message/ui_stream.hpp"

#include "runner/base/stop_reason.hpp"
#include "session/base/json_member.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <algorithm>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

std::string_view finish_reason(bool waits, runner::stop_reason stopped) {
    if (stopped == runner::stop_reason::max_output_tokens) {
        return "length";
    }
    return waits ? "tool-calls" : "stop";
}

bool is_intended(runner::stop_reason why) {
    return why == runner::stop_reason::cancelled || why == runner::stop_reason::aborted ||
           why == runner::stop_reason::superseded;
}

} // namespace

// The step begins at once: a client that goes on by itself looks at the calls of the last step, and
// would repeat its request for ever if a run said nothing.
void ui_stream::start(const json::object& fields, std::string& out) {
    if (started_) {
        return;
    }
    started_ = true;
    begin("start");
    if (!start_.message_id.empty()) {
        chunk_.member("messageId", start_.message_id);
    }
    chunk_.member("messageMetadata", json::object{{"runId", string_in(fields, "runId")}});
    send(out);
    write_parts(before_, out);
    json::array().swap(before_);
    end_step(out);
    begin_step({}, out);
}

void ui_stream::begin_step(std::string_view message_id, std::string& out) {
    const bool goes_on = message_id.empty() || step_message_.empty() || step_message_ == message_id;
    if (in_step_ && goes_on) {
        if (!message_id.empty()) {
            step_message_ = message_id;
        }
        return;
    }
    end_step(out);
    in_step_ = true;
    step_message_ = message_id;
    begin("start-step");
    send(out);
}

void ui_stream::end_step(std::string& out) {
    if (in_step_) {
        begin("finish-step");
        send(out);
    }
    in_step_ = false;
    step_has_result_ = false;
    step_message_.clear();
}

// Calls that a stopped run leaves open can never be answered. An error tells the client so: it
// would execute them and send their results otherwise.
void ui_stream::finish(const json::object& fields, std::string& out) {
    const json::object* const outcome = if_object_in(fields, "outcome");
    const std::string_view kind = outcome ? string_in(*outcome, "type") : std::string_view();
    const bool is_open =
        std::ranges::any_of(calls_, [](const auto& each) { return !each.second.answered; });
    const runner::stop_reason why = runner::stop_reason_of(stop_reason_);
    if (kind == "cancelled" && why != runner::stop_reason::max_output_tokens) {
        if (is_open || !is_intended(why)) {
            fail(runner::describe(why), out);
            return;
        }
        write_changes(out);
        end_step(out);
        begin("abort");
        chunk_.member("reason", stop_reason_);
        send(out);
        end(out);
        return;
    }
    write_changes(out);
    if (kind == "interrupt") {
        write_interrupts(*outcome, out);
    }
    end_step(out);
    begin("finish");
    chunk_.member("finishReason", finish_reason(is_open || kind == "interrupt", why));
    if (const json::value* const usage = fields.if_contains("usage")) {
        chunk_.member("messageMetadata", json::object{{"usage", *usage}});
    }
    send(out);
    end(out);
}

void ui_stream::fail(std::string_view text, std::string& out) {
    write_changes(out);
    end_step(out);
    begin("error");
    chunk_.member("errorText", text);
    send(out);
    end(out);
}

void ui_stream::end(std::string& out) {
    finished_ = true;
    out.append("data: [DONE]\n\n");
}

void ui_stream::write_interrupts(const json::object& outcome, std::string& out) {
    const json::array* const given = if_array_in(outcome, "interrupts");
    if (given == nullptr) {
        return;
    }
    for (const json::value& each : *given) {
        const json::object* const interrupt = each.if_object();
        if (interrupt == nullptr) {
            continue;
        }
        const std::string_view call_id = string_in(*interrupt, "toolCallId");
        const bool is_shown = calls_.contains(call_id) || start_.calls.contains(call_id);
        if (is_shown && string_in(*interrupt, "reason") == "tool_call") {
            begin("tool-approval-request");
            chunk_.member("approvalId", string_in(*interrupt, "id"));
            chunk_.member("toolCallId", call_id);
            send(out);
        } else {
            send_data("data-interrupt", string_in(*interrupt, "id"), each, out);
        }
    }
}

} // namespace agui::translator
