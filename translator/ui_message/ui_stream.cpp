#include "translator/ui_message/ui_stream.hpp"

#include "runner/base/json_text.hpp"
#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "translator/agui/delta_text.hpp"
#include "translator/agui/event_type.hpp"

#include <array>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

// The largest max_json_depth is 1024, and an event wraps values from a request.
constexpr std::size_t max_event_depth = 1040;
constexpr std::string_view event_begin = "data: ";
constexpr std::string_view event_end = "\n\n";

std::string quoted(std::string_view text) {
    std::string out;
    runner::append_json_string(out, text);
    return out;
}

// The events of these types have nothing for a UI message.
bool is_left_out(std::string_view type) {
    constexpr std::array<std::string_view, 5> left_out{
        "", "RAW", "REASONING_START", "REASONING_END", "REASONING_ENCRYPTED_VALUE"
    };
    for (const std::string_view one : left_out) {
        if (type == one) {
            return true;
        }
    }
    return false;
}

std::string_view step_of(std::string_view type) { return type.substr(type.rfind('_') + 1); }

} // namespace

ui_stream::ui_stream(ui_stream_start start)
    : start_(std::move(start)), in_history_(start_.is_replay) {}

void ui_stream::take(std::string_view event, std::string& out) {
    if (finished_ || take_as_before(event, out)) {
        return;
    }
    last_delta_.clear();
    const std::string_view type = type_of_event(event);
    if (is_left_out(type)) {
        return;
    }
    if (type == "MESSAGES_SNAPSHOT") {
        if (in_history_) {
            take_history(event);
        } else {
            take_snapshot(event, out);
        }
        return;
    }
    const auto read = parse_json(event, {.max_depth = max_event_depth});
    const json::object* const fields = read ? read->if_object() : nullptr;
    if (fields == nullptr) {
        return;
    }
    if (!in_history_) {
        take_fields(type, event, *fields, out);
    } else if (type == "RUN_FINISHED" || type == "RUN_ERROR") {
        in_history_ = false;
    } else if (type == "STATE_SNAPSHOT") {
        take_document(type, *fields, out);
    }
}

void ui_stream::take_fields(
    std::string_view type, std::string_view event, const json::object& fields, std::string& out
) {
    const bool is_subagents = fields.contains("subagentRunId");
    if (type == "RUN_STARTED") {
        start(fields, out);
    } else if (type.ends_with("_CONTENT") || type == "TOOL_CALL_ARGS") {
        if (!is_subagents || type == "TOOL_CALL_ARGS") {
            take_delta(event, fields, out);
        }
    } else if (type.starts_with("TEXT_MESSAGE_") && !is_subagents) {
        take_text(step_of(type), fields, out);
    } else if (type.starts_with("REASONING_MESSAGE_") && !is_subagents) {
        take_reasoning(step_of(type), fields, out);
    } else if (type == "TOOL_CALL_RESULT") {
        take_result(fields, out);
    } else if (type.starts_with("TOOL_CALL_")) {
        take_call(step_of(type), fields, out);
    } else if (type == "CUSTOM") {
        take_custom(fields, out);
    } else if (type.starts_with("STATE_") || type.starts_with("ACTIVITY_")) {
        take_document(type, fields, out);
    } else if (type.starts_with("SUBAGENT_")) {
        take_subagent(step_of(type), fields, out);
    } else if (type.starts_with("STEP_")) {
        take_step(step_of(type), fields, out);
    } else if (type == "RUN_FINISHED") {
        finish(fields, out);
    } else if (type == "RUN_ERROR") {
        fail(string_in(fields, "message"), out);
    }
}

// ---- Texts -------------------------------------------------------------------------------------

// Returns true if the event is a delta of the same text or call as the last event.
bool ui_stream::take_as_before(std::string_view event, std::string& out) {
    if (last_delta_.empty() || !event.starts_with(last_delta_)) {
        return false;
    }
    const auto text = plain_delta_text(event.substr(last_delta_.size()));
    if (!text) {
        return false;
    }
    out.append(last_chunk_).append(*text).append("\"}").append(event_end);
    take_arguments(last_call_, *text);
    return true;
}

void ui_stream::take_delta(std::string_view event, const json::object& fields, std::string& out) {
    const std::string_view message_id = string_in(fields, "messageId");
    const std::string_view call_id = string_in(fields, "toolCallId");
    if (!call_id.empty()) {
        const auto found = calls_.find(call_id);
        if (found == calls_.end() || found->second.ended) {
            return;
        }
        last_chunk_ = R"(data: {"type":"tool-input-delta","toolCallId":)" + quoted(call_id) +
                      R"(,"inputTextDelta":")";
    } else if (!message_id.empty() && (message_id == open_text_ || message_id == open_reasoning_)) {
        last_chunk_ = message_id == open_text_ ? R"(data: {"type":"text-delta","id":)"
                                               : R"(data: {"type":"reasoning-delta","id":)";
        last_chunk_.append(quoted(message_id)).append(R"(,"delta":")");
    } else {
        return;
    }
    last_call_ = call_id;
    const std::string text = quoted(string_in(fields, "delta"));
    const std::string_view inner = std::string_view(text).substr(1, text.size() - 2);
    out.append(last_chunk_).append(inner).append("\"}").append(event_end);
    take_arguments(call_id, inner);
    const std::size_t delta = event.find(delta_member);
    if (delta != std::string_view::npos &&
        plain_delta_text(event.substr(delta + delta_member.size()))) {
        last_delta_ = event.substr(0, delta + delta_member.size());
    }
}

void ui_stream::take_text(std::string_view step, const json::object& fields, std::string& out) {
    const std::string_view id = string_in(fields, "messageId");
    if (step == "END") {
        if (id == open_text_ && !id.empty()) {
            open_text_.clear();
            send("text-end", id, out);
        }
        return;
    }
    begin_step(id, out);
    open_text_ = id;
    texts_.emplace(id);
    send("text-start", id, out);
}

// Reasoning comes before the answer of which it is a part, and does not name it.
void ui_stream::take_reasoning(
    std::string_view step, const json::object& fields, std::string& out
) {
    const std::string_view id = string_in(fields, "messageId");
    if (step == "END") {
        if (id == open_reasoning_ && !id.empty()) {
            open_reasoning_.clear();
            send("reasoning-end", id, out);
        }
        return;
    }
    if (step_has_result_) {
        end_step(out);
    }
    begin_step({}, out);
    open_reasoning_ = id;
    send("reasoning-start", id, out);
}

// ---- Chunks ------------------------------------------------------------------------------------

void ui_stream::send(std::string& out) {
    out.append(event_begin).append(chunk_.end()).append(event_end);
}

void ui_stream::send(std::string_view type, std::string_view id, std::string& out) {
    begin(type);
    chunk_.member("id", id);
    send(out);
}

void ui_stream::send_data(
    std::string_view type, std::string_view id, const json::value& data, std::string& out
) {
    begin(type);
    chunk_.member("id", id);
    chunk_.member("data", data);
    send(out);
}

} // namespace agui::translator
