// Each event of the runner, and how texts, calls and steps open and close.
#include "runner/base/json_text.hpp"
#include "session/base/contains.hpp"
#include "translator/agui/agui_translator.hpp"
#include "translator/agui/custom_names.hpp"
#include "translator/agui/snapshot_limit.hpp"
#include "translator/agui/wire_content.hpp"

#include <boost/assert.hpp>

#include <algorithm>
#include <variant>

namespace agui::translator {
namespace {

// Age of the last timestamp, in milliseconds, from which a delta carries one.
constexpr unix_ms stamp_interval = 1000;
// The longest text of one delta, so that a reader with a small buffer progresses in a long answer.
constexpr std::size_t delta_bytes_max = 65'536;

/// Takes the next piece of at most delta_bytes_max off a text, cut between two characters.
std::string_view take_piece(std::string_view& text) {
    std::size_t size = std::min(text.size(), delta_bytes_max);
    while (size < text.size() && size > delta_bytes_max - 4 &&
           (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
        --size;
    }
    const std::string_view piece = text.substr(0, size);
    text.remove_prefix(size);
    return piece;
}
} // namespace

void agui_translator::on(const runner::text_delta& event) {
    BOOST_ASSERT(!event.message_id.empty());
    if (event.text.empty()) {
        return;
    }
    if (lane_->text != event.message_id) {
        open_text(event.message_id);
    }
    for (std::string_view rest = event.text; !rest.empty();) {
        send_text("TEXT_MESSAGE_CONTENT", event.message_id, take_piece(rest));
    }
}

void agui_translator::on(const runner::reasoning_delta& event) {
    BOOST_ASSERT(!event.message_id.empty());
    if (event.text.empty()) {
        return;
    }
    if (lane_->reasoning != event.message_id) {
        open_reasoning(event.message_id);
    }
    for (std::string_view rest = event.text; !rest.empty();) {
        send_text("REASONING_MESSAGE_CONTENT", event.message_id, take_piece(rest));
    }
}

void agui_translator::on(const runner::call_started& event) {
    BOOST_ASSERT(!event.call_id.empty());
    if (is_open(event.call_id)) {
        return;
    }
    close_text();
    close_reasoning();
    lane_->calls.emplace_back(event.call_id);
    if (settings_.tanstack) {
        tool_inputs_[std::string(event.call_id)].first = event.name;
    }
    begin(writer_, "TOOL_CALL_START");
    writer_.member("toolCallId", event.call_id);
    writer_.member("toolCallName", event.name);
    if (!event.parent_message_id.empty()) {
        writer_.member("parentMessageId", event.parent_message_id);
    }
    send();
}

void agui_translator::on(const runner::call_arguments& event) {
    // No client could place the arguments of a call that is not open.
    if (!is_open(event.call_id)) {
        return;
    }
    if (settings_.tanstack) {
        tool_inputs_[std::string(event.call_id)].second.append(event.delta);
    }
    for (std::string_view rest = event.delta; !rest.empty();) {
        send_delta("TOOL_CALL_ARGS", "toolCallId", event.call_id, take_piece(rest));
    }
}

void agui_translator::on(const runner::call_ended& event) {
    if (std::erase(lane_->calls, event.call_id) > 0) {
        close_call(event.call_id);
    }
}

void agui_translator::on(const runner::turn_ended&) { close_all(); }

void agui_translator::on(const runner::call_executing& event) {
    close_all();
    send_custom(custom_tool_started, {{"toolCallId", event.call_id}, {"toolCallName", event.name}});
}

void agui_translator::on(const runner::call_result& event) {
    // All calls of the turn are closed before the first result, in the order of the calls: a client
    // may execute its own calls from their END on, and a result inside an open call breaks the
    // order. Results then follow in the order in which the tools finish.
    close_all();
    if (event.failed) {
        send_custom(custom_tool_failed, {{"toolCallId", event.call_id}});
    }
    const session::content nothing;
    const boost::json::value content = limited(event.content != nullptr ? *event.content : nothing);
    const auto open = [&](event_writer& writer) {
        begin(writer, "TOOL_CALL_RESULT");
        writer.member("messageId", event.message_id);
        writer.member("toolCallId", event.call_id);
        writer.member("role", std::string_view("tool"));
    };
    open(writer_);
    writer_.member("content", content);
    if (content.is_string()) {
        send();
        return;
    }
    note_loss(
        "TOOL_CALL_RESULT",
        is_whole_undeclared(session::content(content.get_array()), session::role::tool)
    );
    open(undeclared_writer_);
    undeclared_writer_.member(
        "content", std::string_view(session::text_of(session::content(content.get_array())))
    );
    out_.on_event(
        {.json = writer_.end(),
         .v1_0 = std::nullopt,
         .undeclared = undeclared_writer_.end(),
         .terminal = false}
    );
}

void agui_translator::on(const runner::messages_snapshot& event) {
    if (event.messages == nullptr) {
        return;
    }
    // A client drops a message that is not in the snapshot, with its later deltas.
    close_texts_of_all();
    const auto write = [&](event_writer& writer, projection form) {
        boost::json::array messages = wire_messages(*event.messages, form, link());
        limit(messages);
        begin(writer, "MESSAGES_SNAPSHOT");
        writer.member("messages", boost::json::value(std::move(messages)));
        return writer.end();
    };
    note_loss(
        "MESSAGES_SNAPSHOT",
        std::ranges::all_of(
            *event.messages, [](const session::message& each
                             ) { return is_whole_undeclared(each.content, each.role); }
        )
    );
    const std::string_view json = write(writer_, projection::v1_1);
    const std::string_view v1_0 = write(v1_0_writer_, projection::v1_0);
    const std::string_view undeclared = write(undeclared_writer_, projection::undeclared);
    wire_event out{.json = json, .v1_0 = v1_0, .undeclared = undeclared, .terminal = false};
    if (v1_0 == json) {
        out.v1_0.reset();
    }
    if (undeclared == json) {
        out.undeclared.reset();
    }
    out_.on_event(out);
}

void agui_translator::on(const runner::reply_segment& event) {
    if (event.segment == nullptr) {
        return;
    }
    std::string value = "{\"messageId\":";
    runner::append_json_string(value, event.message_id);
    value.append(",\"segment\":");
    append_json(value, boost::json::value(*event.segment));
    value.push_back('}');
    send_custom(custom_chat_segment, value);
}

void agui_translator::on(const runner::state_shown& event) {
    const std::string_view json = event.patch.empty() ? event.state->view() : event.patch;
    if (json.size() > event_bytes_max - envelope_bytes_max) {
        // Such a state was stored by a version without the limit. Without the event a client keeps
        // its own state.
        return;
    }
    begin(writer_, event.patch.empty() ? "STATE_SNAPSHOT" : "STATE_DELTA");
    writer_.raw_member(event.patch.empty() ? "snapshot" : "delta", json);
    send();
}

void agui_translator::on(const runner::activity_shown& event) {
    const session::message& activity = *event.activity;
    begin(writer_, "ACTIVITY_SNAPSHOT");
    writer_.member("messageId", std::string_view(activity.id));
    writer_.member("activityType", std::string_view(activity.activity_type));
    writer_.member("content", boost::json::value(wire_activity(activity, link())));
    if (!event.replace) {
        writer_.raw_member("replace", "false");
    }
    if (activity.metadata) {
        writer_.member("metadata", boost::json::value(*activity.metadata));
    }
    send();
}

void agui_translator::on(const runner::activity_patched& event) {
    begin(writer_, "ACTIVITY_DELTA");
    writer_.member("messageId", event.message_id);
    writer_.member("activityType", event.activity_type);
    writer_.raw_member("patch", event.patch);
    send();
}

void agui_translator::on(const runner::step_started& event) {
    if (!contains(lane_->steps, event.name)) {
        lane_->steps.emplace_back(event.name);
        begin(writer_, "STEP_STARTED");
        writer_.member("stepName", event.name);
        send();
    }
}

void agui_translator::on(const runner::step_finished& event) {
    if (std::erase(lane_->steps, event.name) > 0) {
        begin(writer_, "STEP_FINISHED");
        writer_.member("stepName", event.name);
        send();
    }
}

void agui_translator::on(const runner::custom_sent& event) { send_custom(event.name, event.value); }

void agui_translator::on(const runner::raw_sent& event) {
    begin(writer_, "RAW");
    writer_.raw_member("event", event.event);
    if (!event.source.empty()) {
        writer_.member("source", event.source);
    }
    send();
}

// ---- Opening and closing -----------------------------------------------------------------------

void agui_translator::open_text(std::string_view message_id) {
    close_text();
    close_reasoning();
    lane_->text = message_id;
    begin(writer_, "TEXT_MESSAGE_START");
    writer_.member("messageId", message_id);
    writer_.member("role", std::string_view("assistant"));
    send();
}

void agui_translator::open_reasoning(std::string_view message_id) {
    close_text();
    close_reasoning();
    lane_->reasoning = message_id;
    begin(writer_, "REASONING_START");
    writer_.member("messageId", message_id);
    send();
    begin(writer_, "REASONING_MESSAGE_START");
    writer_.member("messageId", message_id);
    writer_.member("role", std::string_view("reasoning"));
    send();
}

void agui_translator::close_text() {
    if (lane_->text.empty()) {
        return;
    }
    begin(writer_, "TEXT_MESSAGE_END");
    writer_.member("messageId", std::string_view(lane_->text));
    lane_->text.clear();
    send();
}

void agui_translator::close_call(std::string_view call_id) {
    begin(writer_, "TOOL_CALL_END");
    writer_.member("toolCallId", call_id);
    send();
}

void agui_translator::close_reasoning() {
    if (lane_->reasoning.empty()) {
        return;
    }
    for (const std::string_view type : {"REASONING_MESSAGE_END", "REASONING_END"}) {
        begin(writer_, type);
        writer_.member("messageId", std::string_view(lane_->reasoning));
        send();
    }
    lane_->reasoning.clear();
}

void agui_translator::close_all() {
    close_text();
    for (const std::string& id : lane_->calls) {
        close_call(id);
    }
    lane_->calls.clear();
    close_reasoning();
}

// The last one first, as if they were nested.
void agui_translator::close_steps() {
    while (!lane_->steps.empty()) {
        const std::string last = lane_->steps.back();
        on(runner::step_finished{last});
    }
}

bool agui_translator::is_open(std::string_view call_id) const {
    return contains(lane_->calls, call_id);
}
void agui_translator::note_loss(std::string_view type, bool whole) const {
    if (!whole && settings_.on_loss) {
        settings_.on_loss(type);
    }
}

part_link agui_translator::link() const {
    if (!settings_.part_link) {
        return {};
    }
    return [this](std::string_view sha256) {
        return settings_.part_link(sha256, now_);
    };
}

/// Shortens the messages of an event that would be too large for clients.
void agui_translator::limit(boost::json::array& messages) const {
    limit_messages(messages, event_bytes_max - envelope_bytes_max, link());
}

/// Shortens the content of a tool message in the same way.
boost::json::value agui_translator::limited(const session::content& content) const {
    boost::json::object message{{"role", "tool"}};
    if (const auto* text = std::get_if<std::string>(&content)) {
        message["content"] = *text;
    } else {
        message["content"] = std::get<boost::json::array>(content);
    }
    boost::json::array one{std::move(message)};
    limit(one);
    return std::move(one.front().get_object()["content"]);
}

void agui_translator::send_text(
    std::string_view type, std::string_view message_id, std::string_view text
) {
    if (now_ - stamped_ < stamp_interval) {
        send_delta(type, "messageId", message_id, text);
        return;
    }
    // The timestamp comes last, so that the log stores the part before the text only once.
    stamped_ = now_;
    begin_delta(type, "messageId", message_id);
    writer_.member("delta", text);
    writer_.member("timestamp", std::int64_t{now_});
    send();
}

void agui_translator::send_delta(
    std::string_view type, std::string_view id_key, std::string_view id, std::string_view text
) {
    if (lane_->subagent_run_id.empty()) {
        send(writer_.delta(type, id_key, id, text));
        return;
    }
    begin_delta(type, id_key, id);
    writer_.member("delta", text);
    send();
}

// Everything before the text is the same for all deltas of a message.
void agui_translator::begin_delta(
    std::string_view type, std::string_view id_key, std::string_view id
) {
    writer_.begin(type);
    writer_.member(id_key, id);
    if (!lane_->subagent_run_id.empty()) {
        writer_.member(subagent_key, std::string_view(lane_->subagent_run_id));
    }
}
} // namespace agui::translator
