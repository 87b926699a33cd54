#include "translator/chat_stream/chat_messages.hpp"

#include "runner/base/stop_reason.hpp"
#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "session/history/missing_result.hpp"
#include "translator/agui/custom_names.hpp"
#include "translator/agui/delta_text.hpp"
#include "translator/agui/event_reader.hpp"
#include "translator/agui/event_type.hpp"
#include "translator/agui/event_writer.hpp"
#include "translator/agui/snapshot_text.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace agui::translator {

namespace json = boost::json;

namespace {

// Requests are nested at most 64 levels deep, and an event may wrap values from one.
constexpr std::size_t max_event_depth = 128;
// Arguments nested deeper are shown as text.
constexpr std::size_t max_arguments_depth = 64;

std::optional<json::object> parse(std::string_view text, std::size_t max_depth) {
    result<json::value> read = parse_json(text, {.max_depth = max_depth});
    if (!read || !read->is_object()) {
        return std::nullopt;
    }
    return std::move(read->get_object());
}

void append_raw_member(std::string& out, std::string_view name, std::string_view value) {
    out.append(",\"").append(name).append("\":").append(value);
}

// {"toolCallId":…,"toolName":… without the closing bracket.
std::string call_members(std::string_view call_id, std::string_view tool) {
    std::string out;
    append_member(out, "toolCallId", call_id);
    if (!tool.empty()) {
        append_member(out, "toolName", tool);
    }
    return out;
}

// A model's arguments as JSON: an object if they are one, otherwise their text.
std::string arguments_json(const std::string& text) {
    if (text.empty()) {
        return "{}";
    }
    std::string quoted = '"' + text + '"';
    const std::optional<std::string> plain = parse_json_string(quoted);
    if (!plain) {
        return "{}";
    }
    const auto read = parse(*plain, max_arguments_depth);
    if (!read) {
        return quoted;
    }
    std::string out;
    append_json(out, *read);
    return out;
}

const json::object* object_member(const json::object& of, std::string_view key) {
    const json::value* found = of.if_contains(key);
    return found == nullptr ? nullptr : found->if_object();
}

const json::array* array_member(const json::object& of, std::string_view key) {
    const json::value* found = of.if_contains(key);
    return found == nullptr ? nullptr : found->if_array();
}

} // namespace

void chat_messages::take(std::string_view event) {
    if (finished() || take_as_before(event)) {
        return;
    }
    const std::string_view type = type_of_event(event);
    if (type == "MESSAGES_SNAPSHOT") {
        take_snapshot(event);
        return;
    }
    const bool tells = type.starts_with("RUN_") || type.starts_with("TEXT_MESSAGE_") ||
                       type.starts_with("REASONING_MESSAGE_") || type.starts_with("TOOL_CALL_") ||
                       type == "CUSTOM";
    if (!tells) {
        return;
    }
    const auto fields = parse(event, max_event_depth);
    if (!fields) {
        return;
    }
    take_time(*fields);
    const bool is_text = type.starts_with("TEXT_MESSAGE_") || type.starts_with("REASONING_");
    if (is_text && fields->contains("subagentRunId")) {
        return; // The result of its call tells what a subagent has found.
    }
    const std::string_view message_id = string_in(*fields, "messageId");
    const std::string_view call_id = string_in(*fields, "toolCallId");
    if (type == "TEXT_MESSAGE_CONTENT") {
        take_delta(event, *fields, kind::content);
    } else if (type == "REASONING_MESSAGE_CONTENT") {
        take_delta(event, *fields, kind::thinking);
    } else if (type == "TOOL_CALL_ARGS") {
        take_delta(event, *fields, kind::tool_call_request);
    } else if (type == "TEXT_MESSAGE_START" || type == "REASONING_MESSAGE_START") {
        complete_text();
        begun_text_ = message_id;
    } else if (type == "TEXT_MESSAGE_END") {
        end_text(kind::content, message_id);
    } else if (type == "REASONING_MESSAGE_END") {
        end_text(kind::thinking, message_id);
    } else if (type == "TOOL_CALL_START") {
        begin_call(call_id, string_in(*fields, "toolCallName"));
    } else if (type == "TOOL_CALL_END") {
        end_call(call_id);
    } else if (type == "TOOL_CALL_RESULT") {
        take_result(*fields);
    } else if (type == "CUSTOM") {
        take_custom(*fields);
    } else if (type == "RUN_STARTED") {
        list_.touch(); // Lets a client know the ids before the model's first words.
    } else if (type == "RUN_ERROR") {
        add_error(string_in(*fields, "code"), string_in(*fields, "message"));
        complete_all();
        fail_calls();
        list_.finish();
    } else if (type == "RUN_FINISHED") {
        complete_all();
        const json::object* const outcome = object_member(*fields, "outcome");
        if (outcome != nullptr && string_in(*outcome, "type") == "cancelled") {
            fail_calls();
        } else {
            mark_pending(*fields);
        }
        list_.finish(stopped_);
    }
}

// Deltas usually have no time; they get the time of the last event that has one.
void chat_messages::take_time(const boost::json::object& fields) {
    const json::value* time = fields.if_contains("timestamp");
    if (time != nullptr && time->is_int64()) {
        list_.set_time(time->get_int64());
    }
}

// ---- Texts -------------------------------------------------------------------------------------

// Returns true if the event is a delta of the same stream as the last one.
bool chat_messages::take_as_before(std::string_view event) {
    if (last_delta_.empty() || !event.starts_with(last_delta_)) {
        return false;
    }
    const auto text = plain_delta_text(event.substr(last_delta_.size()));
    if (!text) {
        return false;
    }
    add(last_kind_, last_key_, *text);
    return true;
}

void chat_messages::take_delta(
    std::string_view event, const boost::json::object& fields, kind what
) {
    last_kind_ = what;
    last_key_ = string_in(fields, what == kind::tool_call_request ? "toolCallId" : "messageId");
    const std::size_t delta = event.find(delta_member);
    const bool is_plain = delta != std::string_view::npos &&
                          plain_delta_text(event.substr(delta + delta_member.size())).has_value();
    last_delta_ = is_plain ? event.substr(0, delta + delta_member.size()) : std::string_view();
    add(what, last_key_, escaped(string_in(fields, "delta")));
}

void chat_messages::add(kind what, const std::string& key, std::string_view text) {
    if (what == kind::tool_call_request) {
        if (message* call = list_.find(what, key); call != nullptr && !call->generated) {
            list_.add_arguments(*call, text);
        }
        return;
    }
    if (open_text_ == none || list_[open_text_].key != key || list_[open_text_].what != what) {
        begin_text(what, key);
    }
    list_.add_text(list_[open_text_], text);
}

void chat_messages::begin_text(kind what, std::string_view key) {
    complete_text();
    const bool is_known = !texts_.emplace(key, what).second;
    const message* before = is_known ? list_.find(what, key) : nullptr;
    if (before == nullptr) {
        list_.append(what, key);
    } else {
        list_.append(what, key, before->hash);
    }
    open_text_ = list_.size() - 1;
}

void chat_messages::end_text(kind what, std::string_view key) {
    if (!key.empty() && begun_text_ == key) {
        begin_text(what, key); // It stayed empty, but is shown nevertheless.
    }
    complete_text();
}

void chat_messages::complete_text() {
    begun_text_.clear();
    if (open_text_ != none) {
        list_.complete(list_[open_text_]);
        open_text_ = none;
    }
}

chat_messages::message& chat_messages::append(kind what, std::string_view key) {
    complete_text();
    return list_.append(what, key);
}

// Applies the stored messages at the end of the run. A plugin may have changed the run's own
// messages since a reader saw them, or kept them from being stored. An answer from another run to
// this one's message is only in the snapshot.
void chat_messages::take_snapshot(std::string_view event) {
    const std::vector<std::string_view> elements = elements_of(event, "messages");
    if (elements.empty()) {
        return;
    }
    const std::size_t head = event.find(R"(,"messages":)");
    if (const auto fields = parse(std::string(event.substr(0, head)) + '}', max_event_depth)) {
        take_time(*fields);
    }
    std::set<std::string, std::less<>> stored;
    for (const std::string_view element : elements) {
        const auto shown = texts_.find(id_of(element));
        if (shown == texts_.end() || shown->first.empty()) {
            continue;
        }
        stored.insert(shown->first);
        const auto fields = parse(element, max_event_depth);
        const json::value* content = fields ? fields->if_contains("content") : nullptr;
        if (content == nullptr || content->is_string()) { // Empty texts are left out.
            const std::string text =
                content == nullptr ? std::string() : escaped(content->get_string());
            correct(shown->second, shown->first, text);
        }
    }
    for (const auto& [key, what] : texts_) {
        if (what == kind::content && !stored.contains(key)) {
            correct(what, key, {});
        }
    }
    const auto last = parse(elements.back(), max_event_depth);
    if (!last || string_in(*last, "role") != "assistant" || last->contains("toolCalls") ||
        last->contains("subagentRunId")) {
        return; // Not a last answer.
    }
    const std::string_view key = string_in(*last, "id");
    const std::string_view text = string_in(*last, "content");
    if (text.empty() || texts_.contains(key)) {
        return;
    }
    begin_text(kind::content, key);
    add(kind::content, std::string(key), escaped(text));
    complete_text();
}

// A text that was continued after a call has several messages. The first one gets the whole text.
void chat_messages::correct(kind what, std::string_view key, std::string_view text) {
    const message* last = list_.find(what, key);
    if (last == nullptr || last->hash == hash_of(text)) {
        return;
    }
    complete_text();
    const std::uint64_t hash = hash_of(text);
    for (std::size_t i = 0; i < list_.size(); ++i) {
        message& one = list_[i];
        if (one.what == what && one.key == key) {
            list_.replace_text(one, text);
            one.hash = hash;
            text = {};
        }
    }
}

// ---- Calls and the run -------------------------------------------------------------------------

void chat_messages::begin_call(std::string_view key, std::string_view name) {
    message& call = append(kind::tool_call_request, key);
    call.name = name;
    list_.set_value(call, call_members(key, name) + '}');
}

void chat_messages::end_call(std::string_view key) {
    message* call = list_.find(kind::tool_call_request, key);
    if (call != nullptr && !call->generated) {
        complete_call(*call);
    }
}

void chat_messages::complete_call(message& call) {
    std::string value = call_members(call.key, call.name);
    append_raw_member(value, "arguments", arguments_json(call.arguments));
    list_.set_value(call, std::move(value) + '}');
    list_.complete(call);
}

void chat_messages::take_custom(const boost::json::object& fields) {
    const std::string_view name = string_in(fields, "name");
    const json::object* value = object_member(fields, "value");
    if (value == nullptr) {
        return;
    }
    const std::string_view call_id = string_in(*value, "toolCallId");
    if (is_custom(name, custom_tool_started)) {
        begin_execution(call_id, string_in(*value, "toolCallName"));
    } else if (is_custom(name, custom_tool_failed)) {
        failed_calls_.emplace(call_id);
    } else if (is_custom(name, custom_run_stopped)) {
        const std::string_view reason = string_in(*value, "reason");
        const runner::stop_reason why = runner::stop_reason_of(reason);
        if (why == runner::stop_reason::cancelled) {
            stopped_ = reason; // The user stopped it, so it is no error.
        } else {
            add_error(reason, runner::describe(why));
        }
    }
}

void chat_messages::begin_execution(std::string_view key, std::string_view name) {
    message& started = append(kind::tool_execution_start, key);
    started.name = name;
    list_.set_value(started, call_members(key, name) + '}');
}

void chat_messages::take_result(const boost::json::object& fields) {
    const std::string_view call_id = string_in(fields, "toolCallId");
    const json::value* content = fields.if_contains("content");
    if (content == nullptr || !fields.contains("role")) {
        return; // Without a role, it belongs to a call of an earlier run, for readers that show it.
    }
    std::string name;
    if (message* call = list_.find(kind::tool_call_request, call_id)) {
        name = call->name;
        if (!call->generated) {
            complete_call(*call);
        }
        list_.set_answered(*call);
    }
    if (message* started = list_.find(kind::tool_execution_start, call_id)) {
        name = started->name;
        if (!started->generated) {
            list_.complete(*started);
        }
    }
    std::string result;
    append_json(result, *content);
    std::string value = call_members(call_id, name);
    append_raw_member(value, failed_calls_.contains(call_id) ? "error" : "result", result);
    message& done = append(kind::tool_execution_complete, call_id);
    list_.set_value(done, std::move(value) + '}');
    list_.complete(done);
}

void chat_messages::add_error(std::string_view code, std::string_view text) {
    message& error = append(kind::error, {});
    std::string value;
    append_member(value, "code", code);
    append_member(value, "message", text);
    list_.set_value(error, std::move(value) + '}');
    list_.complete(error);
}

// Calls of earlier runs may also be pending, but have no message here.
void chat_messages::mark_pending(const boost::json::object& fields) {
    const json::object* outcome = object_member(fields, "outcome");
    const json::array* ids =
        outcome == nullptr ? nullptr : array_member(*outcome, "pendingToolCallIds");
    if (ids == nullptr) {
        return;
    }
    for (const json::value& id : *ids) {
        message* call =
            id.is_string() ? list_.find(kind::tool_call_request, id.get_string()) : nullptr;
        if (call == nullptr || call->answered) {
            continue;
        }
        std::string value = call->value.substr(0, call->value.size() - 1);
        append_raw_member(value, "pending", "true");
        list_.set_value(*call, std::move(value) + '}');
    }
}

// Calls left by a stopped or failed run can never be answered.
void chat_messages::fail_calls() {
    const std::size_t size = list_.size();
    for (std::size_t i = 0; i < size; ++i) {
        if (list_[i].what != kind::tool_call_request || list_[i].answered) {
            continue;
        }
        list_.set_answered(list_[i]);
        std::string value = call_members(list_[i].key, list_[i].name);
        append_member(value, "error", session::missing_answer(session::call_status::dead));
        message& failed = append(kind::tool_execution_complete, std::string(list_[i].key));
        list_.set_value(failed, std::move(value) + '}');
        list_.complete(failed);
    }
}

void chat_messages::complete_all() {
    complete_text();
    for (std::size_t i = 0; i < list_.size(); ++i) {
        message& one = list_[i];
        if (one.generated) {
            continue;
        }
        if (one.what == kind::tool_call_request) {
            complete_call(one);
        } else {
            list_.complete(one);
        }
    }
}

} // namespace agui::translator
