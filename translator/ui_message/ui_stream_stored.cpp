#include "translator/ui_message/ui_stream.hpp"

#include "session/base/json_member.hpp"
#include "session/base/parse_json.hpp"
#include "translator/agui/snapshot_text.hpp"
#include "translator/ui_message/ui_messages.hpp"
#include "translator/ui_message/ui_values.hpp"

#include <utility>
#include <vector>

namespace agui::translator {

namespace json = boost::json;

namespace {

// The largest max_json_depth, and some more around it.
constexpr std::size_t message_depth = 1040;

} // namespace

// A replay has the whole conversation first. Its messages after the last user message are the
// beginning of the UI message that the run continues.
void ui_stream::take_history(std::string_view event) {
    const std::vector<std::string_view> elements = elements_of(event, "messages");
    std::size_t first = elements.size();
    std::vector<json::value> messages;
    while (first > 0) {
        auto read = parse_json(elements[--first], {.max_depth = message_depth});
        const json::object* const message = read ? read->if_object() : nullptr;
        if (message == nullptr) {
            continue;
        }
        const bool is_user =
            string_in(*message, "role") == "user" && !message->contains("subagentRunId");
        messages.push_back(std::move(*read));
        if (is_user) {
            break;
        }
    }
    ui_messages made;
    for (auto each = messages.rbegin(); each != messages.rend(); ++each) {
        made.take(each->get_object());
    }
    json::array shown = std::move(made).release();
    if (shown.empty()) {
        return;
    }
    json::object& last = shown.back().get_object();
    const std::string_view id = string_in(last, "id");
    if (string_in(last, "role") == "user") {
        start_.message_id = answer_id(id);
        return;
    }
    start_.message_id = id;
    before_ = std::move(last["parts"].get_array());
    for (const json::value& part : before_) {
        const std::string_view call_id = string_in(part.get_object(), "toolCallId");
        if (!call_id.empty()) {
            start_.calls.emplace(call_id);
        }
    }
}

// An answer that another run has given to this request is only in the snapshot.
void ui_stream::take_snapshot(std::string_view event, std::string& out) {
    const std::vector<std::string_view> elements = elements_of(event, "messages");
    if (elements.empty() || texts_.contains(id_of(elements.back()))) {
        return;
    }
    const auto read = parse_json(elements.back(), {.max_depth = message_depth});
    const json::object* const message = read ? read->if_object() : nullptr;
    if (message == nullptr || string_in(*message, "role") != "assistant" ||
        message->contains("toolCalls") || message->contains("subagentRunId")) {
        return;
    }
    if (const json::value* const content = message->if_contains("content")) {
        const std::string_view id = string_in(*message, "id");
        begin_step(id, out);
        texts_.emplace(id);
        write_parts(ui_content(*content), out);
    }
}

void ui_stream::write_parts(const json::array& parts, std::string& out) {
    for (const json::value& part : parts) {
        write_part(part.get_object(), out);
    }
}

void ui_stream::write_part(const json::object& part, std::string& out) {
    const std::string_view type = string_in(part, "type");
    if (type == "step-start") {
        end_step(out);
        begin_step({}, out);
    } else if (type == "text" || type == "reasoning") {
        const std::string kind(type);
        const std::string id = "stored-" + std::to_string(++stored_texts_);
        send(kind + "-start", id, out);
        begin(kind + "-delta");
        chunk_.member("id", id);
        chunk_.member("delta", string_in(part, "text"));
        send(out);
        send(kind + "-end", id, out);
    } else if (type.starts_with("tool-")) {
        write_stored_call(part, out);
    } else {
        begin(type);
        for (const auto& member : part) {
            if (member.key() != "type") {
                chunk_.member(member.key(), member.value());
            }
        }
        send(out);
    }
}

} // namespace agui::translator
