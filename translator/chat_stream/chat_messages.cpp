#include "translator/chat_stream/chat_messages.hpp"

#include "runner/base/stop_reason.hpp"
#include "translator/agui/event_reader.hpp"
#include "translator/agui/event_writer.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace agui::translator {

namespace json = boost::json;

namespace {

// Requests are nested 64 levels deep at most, and an event wraps what came with one.
constexpr std::size_t max_event_depth = 128;
// Arguments nested deeper are shown as text.
constexpr std::size_t max_arguments_depth = 64;
// In incremental mode thinking is sent whole each time, because a client replaces it. It is sent
// when it has grown by this part of itself, so that all its frames together are about five times
// its size.
constexpr std::size_t thinking_growth = 4;

constexpr std::string_view delta_member = R"("delta":")";
constexpr std::string_view delta_end = R"("})";

std::optional<json::object> parse(std::string_view text, std::size_t max_depth) {
    json::parse_options options;
    options.max_depth = max_depth;
    json::error_code ec;
    json::value read = json::parse(text, ec, {}, options);
    if (ec || !read.is_object()) {
        return std::nullopt;
    }
    return std::move(read.get_object());
}

// {"type":"RUN_ERROR",… → RUN_ERROR
std::string_view type_of(std::string_view event) {
    constexpr std::string_view begin = R"({"type":")";
    if (!event.starts_with(begin)) {
        return {};
    }
    event.remove_prefix(begin.size());
    return event.substr(0, event.find('"'));
}

// `rest` is what follows `"delta":"`: the text, if nothing but the end of the event follows it.
std::optional<std::string_view> plain_text(std::string_view rest) {
    std::size_t at = 0;
    while (at < rest.size() && rest[at] != '"') {
        at += rest[at] == '\\' ? 2 : 1;
    }
    if (at >= rest.size() || rest.substr(at) != delta_end) {
        return std::nullopt;
    }
    return rest.substr(0, at);
}

// The text as in a JSON string, without its quotes.
std::string escaped(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out.substr(1, out.size() - 2);
}

void append_number(std::string& out, std::int64_t number) {
    std::array<char, 20> digits{}; // Holds every 64-bit number.
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
    out.push_back(out.empty() ? '{' : ',');
    out.append("\"").append(name).append("\":");
    append_json_string(out, text);
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

// The arguments that a model has given, as JSON: an object if they are one, otherwise their text.
std::string arguments_json(const std::string& text) {
    if (text.empty()) {
        return "{}";
    }
    std::string quoted = '"' + text + '"';
    json::error_code ec;
    const json::value plain = json::parse(quoted, ec);
    if (ec || !plain.is_string()) {
        return "{}";
    }
    const auto read = parse(plain.get_string(), max_arguments_depth);
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

// The last element of the array that is the member `key`, as JSON. An event may hold a whole
// conversation, and of that only one message counts. Empty: there is none.
std::string_view last_element(std::string_view event, std::string_view key) {
    const std::string begin = '"' + std::string(key) + "\":[";
    const std::size_t array = event.find(begin);
    if (array == std::string_view::npos) {
        return {};
    }
    std::size_t depth = 0;
    std::size_t element = array + begin.size();
    for (std::size_t at = element; at < event.size(); ++at) {
        switch (event[at]) {
        case '"':
            for (++at; at < event.size() && event[at] != '"'; ++at) {
                at += event[at] == '\\' ? 1U : 0U;
            }
            break;
        case '[':
        case '{':
            ++depth;
            break;
        case ']':
        case '}':
            if (depth == 0) {
                return event.substr(element, at - element);
            }
            --depth;
            break;
        case ',':
            element = depth == 0 ? at + 1 : element;
            break;
        default:
            break;
        }
    }
    return {};
}

const json::array* array_member(const json::object& of, std::string_view key) {
    const json::value* found = of.if_contains(key);
    return found == nullptr ? nullptr : found->if_array();
}

} // namespace

chat_messages::chat_messages(
    std::string_view session_id, std::string_view message_id, chat_mode mode
)
    : mode_(mode), id_(escaped(message_id)) {
    append_member(head_, "sessionId", session_id);
    append_member(head_, "messageId", message_id);
    head_.append(R"(,"msgStatus":")");
}

// ---- Events ------------------------------------------------------------------------------------

void chat_messages::take(std::string_view event) {
    if (finished_ || take_as_before(event)) {
        return;
    }
    const std::string_view type = type_of(event);
    const bool tells = type.starts_with("RUN_") || type.starts_with("TEXT_MESSAGE_") ||
                       type.starts_with("REASONING_MESSAGE_") || type.starts_with("TOOL_CALL_") ||
                       type == "CUSTOM";
    if (type == "MESSAGES_SNAPSHOT") {
        take_snapshot(event);
    }
    if (!tells) {
        return;
    }
    const auto fields = parse(event, max_event_depth);
    if (!fields) {
        return;
    }
    if (const json::value* time = fields->if_contains("timestamp");
        time != nullptr && time->is_int64()) {
        time_ = time->get_int64();
    }
    const std::string_view message_id = string_member(*fields, "messageId");
    const std::string_view call_id = string_member(*fields, "toolCallId");
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
        begin_call(call_id, string_member(*fields, "toolCallName"));
    } else if (type == "TOOL_CALL_END") {
        if (message* call = find(kind::tool_call_request, call_id)) {
            end_call(*call);
        }
    } else if (type == "TOOL_CALL_RESULT") {
        take_result(*fields);
    } else if (type == "CUSTOM") {
        take_custom(*fields);
    } else if (type == "RUN_STARTED") {
        changed_ = true; // So that a client knows the ids before the model says anything.
    } else if (type == "RUN_ERROR") {
        add_error(string_member(*fields, "code"), string_member(*fields, "message"));
        finish();
    } else if (type == "RUN_FINISHED") {
        mark_pending(*fields);
        finish();
    }
}

// True: the event is a delta of the same stream as the last one.
bool chat_messages::take_as_before(std::string_view event) {
    if (last_delta_.empty() || !event.starts_with(last_delta_)) {
        return false;
    }
    const auto text = plain_text(event.substr(last_delta_.size()));
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
    last_key_ = string_member(fields, what == kind::tool_call_request ? "toolCallId" : "messageId");
    const std::size_t delta = event.find(delta_member);
    const bool is_plain = delta != std::string_view::npos &&
                          plain_text(event.substr(delta + delta_member.size())).has_value();
    last_delta_ = is_plain ? event.substr(0, delta + delta_member.size()) : std::string_view();
    add(what, last_key_, escaped(string_member(fields, "delta")));
}

void chat_messages::add(kind what, const std::string& key, std::string_view text) {
    if (what == kind::tool_call_request) {
        if (message* call = find(what, key)) {
            call->arguments.append(text);
            bytes_ += text.size();
        }
        return;
    }
    if (open_text_ == none || messages_[open_text_].key != key ||
        messages_[open_text_].what != what) {
        begin_text(what, key);
    }
    message& open = messages_[open_text_];
    open.value.append(text);
    bytes_ += text.size();
    const bool waits = what == kind::thinking && mode_ == chat_mode::incremental &&
                       open.reported > 0 &&
                       open.value.size() < open.reported + open.reported / thinking_growth;
    if (!waits) {
        touch(open);
    }
}

void chat_messages::begin_text(kind what, std::string_view key) {
    begun_text_.clear();
    append(what, key);
    open_text_ = messages_.size() - 1;
    if (what == kind::content) {
        contents_.emplace(key);
    }
}

void chat_messages::end_text(kind what, std::string_view key) {
    if (!key.empty() && begun_text_ == key) {
        begin_text(what, key); // It has stayed empty, and is shown all the same.
    }
    complete_text();
}

void chat_messages::begin_call(std::string_view key, std::string_view name) {
    if (message* known = find(kind::tool_call_request, key)) {
        known->generated = false; // Late arguments.
        touch(*known);
        return;
    }
    message& call = append(kind::tool_call_request, key);
    call.name = name;
    set_value(call, call_members(key, name) + '}');
}

void chat_messages::end_call(message& call) {
    std::string value = call_members(call.key, call.name);
    append_raw_member(value, "arguments", arguments_json(call.arguments));
    set_value(call, std::move(value) + '}');
    complete(call);
}

void chat_messages::take_custom(const boost::json::object& fields) {
    const std::string_view name = string_member(fields, "name");
    const json::object* value = object_member(fields, "value");
    if (value == nullptr) {
        return;
    }
    const std::string_view call_id = string_member(*value, "toolCallId");
    if (name == "tool.started") {
        begin_execution(call_id, string_member(*value, "toolCallName"));
    } else if (name == "tool.failed") {
        failed_calls_.emplace(call_id);
    } else if (name == "run.stopped") {
        // Also if the user has stopped it: a client that sees `finished` runs the tools that it was
        // asked for.
        const std::string_view reason = string_member(*value, "reason");
        add_error(reason, runner::describe(runner::stop_reason_of(reason)));
    }
}

void chat_messages::begin_execution(std::string_view key, std::string_view name) {
    message& started = append(kind::tool_execution_start, key);
    started.name = name;
    set_value(started, call_members(key, name) + '}');
}

void chat_messages::take_result(const boost::json::object& fields) {
    const std::string_view call_id = string_member(fields, "toolCallId");
    const json::value* content = fields.if_contains("content");
    if (content == nullptr) {
        return;
    }
    std::string name;
    if (message* started = find(kind::tool_execution_start, call_id)) {
        name = started->name;
        if (!started->generated) {
            complete(*started);
        }
    } else if (const message* call = find(kind::tool_call_request, call_id)) {
        name = call->name;
    }
    std::string result;
    append_json(result, *content);
    std::string value = call_members(call_id, name);
    append_raw_member(value, failed_calls_.contains(call_id) ? "error" : "result", result);
    message& done = append(kind::tool_execution_complete, call_id);
    set_value(done, std::move(value) + '}');
    complete(done);
}

// The answer that another run has given to this one's message is only in a snapshot.
void chat_messages::take_snapshot(std::string_view event) {
    const auto last = parse(last_element(event, "messages"), max_event_depth);
    if (!last || string_member(*last, "role") != "assistant") {
        return;
    }
    const std::string_view key = string_member(*last, "id");
    const std::string_view text = string_member(*last, "content");
    if (text.empty() || contents_.contains(key)) {
        return;
    }
    complete_text();
    add(kind::content, std::string(key), escaped(text));
    complete_text();
}

void chat_messages::add_error(std::string_view code, std::string_view text) {
    message& error = append(kind::error, {});
    std::string value;
    append_member(value, "code", code);
    append_member(value, "message", text);
    set_value(error, std::move(value) + '}');
    complete(error);
}

// Calls of earlier runs may be pending too: they have no message here.
void chat_messages::mark_pending(const boost::json::object& fields) {
    const json::object* outcome = object_member(fields, "outcome");
    const json::array* ids =
        outcome == nullptr ? nullptr : array_member(*outcome, "pendingToolCallIds");
    if (ids == nullptr) {
        return;
    }
    for (const json::value& id : *ids) {
        message* call = id.is_string() ? find(kind::tool_call_request, id.get_string()) : nullptr;
        if (call == nullptr) {
            continue;
        }
        std::string value = call->value.substr(0, call->value.size() - 1);
        append_raw_member(value, "pending", "true");
        set_value(*call, std::move(value) + '}');
    }
}

void chat_messages::finish() {
    complete_text();
    for (message& one : messages_) {
        if (one.generated) {
            continue;
        }
        if (one.what == kind::tool_call_request) {
            end_call(one);
        } else {
            complete(one);
        }
    }
    finished_ = true;
    changed_ = true;
}

// ---- Messages ----------------------------------------------------------------------------------

chat_messages::message& chat_messages::append(kind what, std::string_view key) {
    complete_text();
    message& made = messages_.emplace_back();
    made.what = what;
    made.key = key;
    bytes_ += sizeof(message) + 2 * key.size();
    touch(made);
    return made;
}

chat_messages::message* chat_messages::find(kind what, std::string_view key) {
    const auto found = std::find_if(messages_.rbegin(), messages_.rend(), [&](const message& one) {
        return one.what == what && one.key == key;
    });
    return found == messages_.rend() ? nullptr : &*found;
}

void chat_messages::touch(message& one) {
    one.changed = true;
    one.timestamp = time_;
    changed_ = true;
    first_changed_ = std::min(first_changed_, static_cast<std::size_t>(&one - messages_.data()));
}

void chat_messages::complete(message& one) {
    one.generated = true;
    touch(one);
}

void chat_messages::complete_text() {
    begun_text_.clear();
    if (open_text_ != none) {
        complete(messages_[open_text_]);
        open_text_ = none;
    }
}

void chat_messages::set_value(message& one, std::string value) {
    bytes_ += value.size();
    bytes_ -= one.value.size();
    one.value = std::move(value);
    touch(one);
}

// ---- Frames ------------------------------------------------------------------------------------

std::string_view chat_messages::name_of(kind what) noexcept {
    switch (what) {
    case kind::content:
        return "content";
    case kind::thinking:
        return "thinking";
    case kind::tool_call_request:
        return "tool_call_request";
    case kind::tool_execution_start:
        return "tool_execution_start";
    case kind::tool_execution_complete:
        return "tool_execution_complete";
    case kind::error:
        break;
    }
    return "error";
}

void chat_messages::write_message(std::size_t index, std::string& out) const {
    const message& one = messages_[index];
    out.append(R"({"type":")").append(name_of(one.what)).append(R"(","value":)");
    const bool is_text = one.what == kind::content || one.what == kind::thinking;
    if (is_text) {
        out.push_back('"');
    }
    out.append(one.value);
    if (is_text) {
        out.push_back('"');
    }
    out.append(R"(,"timestamp":)");
    append_number(out, one.timestamp);
    out.append(R"(,"id":")").append(id_).push_back('-');
    append_number(out, static_cast<std::int64_t>(index));
    out.append(one.generated ? R"(","status":"generated"})" : R"(","status":"generating"})");
}

void chat_messages::write_frame(std::string& out) {
    out.append(head_).append(finished_ ? "finished" : "generating").append(R"(","messages":[)");
    const bool all = mode_ == chat_mode::full;
    bool first = true;
    for (std::size_t i = all ? 0 : first_changed_; i < messages_.size(); ++i) {
        if (!all && !messages_[i].changed) {
            continue;
        }
        if (!first) {
            out.push_back(',');
        }
        first = false;
        write_message(i, out);
    }
    out.append("]}");
    end_frame();
}

void chat_messages::skip_frame() { end_frame(); }

void chat_messages::end_frame() {
    for (std::size_t i = first_changed_; i < messages_.size(); ++i) {
        message& one = messages_[i];
        if (!one.changed) {
            continue;
        }
        one.changed = false;
        if (mode_ == chat_mode::incremental) {
            if (one.what == kind::content) {
                bytes_ -= one.value.size();
                one.value.clear();
            } else if (one.generated && one.what != kind::tool_call_request) {
                bytes_ -= one.value.size(); // It will not be sent again.
                std::string().swap(one.value);
            } else {
                one.reported = one.value.size();
            }
        }
    }
    first_changed_ = none;
    changed_ = false;
}

} // namespace agui::translator
