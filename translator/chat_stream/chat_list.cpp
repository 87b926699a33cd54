#include "translator/chat_stream/chat_list.hpp"

#include "runner/base/json_text.hpp"
#include "translator/agui/event_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace agui::translator {

namespace {

// In incremental mode thinking is sent whole each time, because a client replaces it. It is sent
// when it has grown by a quarter, so that all its frames together are about five times its size, or
// when this time has passed, so that a reader sees the progress of a long thought.
constexpr std::size_t thinking_growth = 4;
constexpr std::int64_t thinking_pause_ms = 1000;

// `generating","messages":[` and `]}`
constexpr std::size_t status_bytes = 26;
constexpr std::string_view stop_reason_member = R"(","stopReason":")";
// Bytes of a content besides its text and the messageId, and of any message besides its value.
constexpr std::size_t content_bytes_around = 88;
constexpr std::size_t message_bytes_around = 136;

void append_number(std::string& out, std::int64_t number) {
    std::array<char, 20> digits{}; // Holds every 64-bit number.
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

bool is_text(const chat_list::message& one) noexcept {
    return one.what == chat_list::kind::content || one.what == chat_list::kind::thinking;
}

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    runner::append_json_string(out, text);
    return out.substr(1, out.size() - 2);
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
    out.push_back(out.empty() ? '{' : ',');
    out.append("\"").append(name).append("\":");
    runner::append_json_string(out, text);
}

chat_list::chat_list(std::string_view session_id, std::string_view message_id, chat_mode mode)
    : mode_(mode), id_(escaped(message_id)) {
    append_member(head_, "sessionId", session_id);
    append_member(head_, "messageId", message_id);
    head_.append(R"(,"msgStatus":")");
}

std::uint64_t hash_of(std::string_view text, std::uint64_t before) noexcept {
    std::uint64_t hash = before;
    for (const char byte : text) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
    return hash;
}

// ---- Messages ----------------------------------------------------------------------------------

chat_list::message& chat_list::append(kind what, std::string_view key, std::uint64_t hash) {
    message& made = messages_.emplace_back();
    made.what = what;
    made.key = key;
    made.hash = hash;
    bytes_ += sizeof(message) + key.size();
    touch(made);
    return made;
}

chat_list::message* chat_list::find(kind what, std::string_view key) {
    const auto found = std::find_if(messages_.rbegin(), messages_.rend(), [&](const message& one) {
        return one.what == what && one.key == key;
    });
    return found == messages_.rend() ? nullptr : &*found;
}

void chat_list::add_text(message& one, std::string_view text) {
    one.value.append(text);
    one.hash = hash_of(text, one.hash);
    bytes_ += text.size();
    const bool waits = one.what == kind::thinking && mode_ == chat_mode::incremental &&
                       one.reported > 0 &&
                       one.value.size() < one.reported + one.reported / thinking_growth &&
                       time_ - one.reported_at < thinking_pause_ms;
    if (!waits) {
        touch(one);
    }
}

void chat_list::replace_text(message& one, std::string_view text) {
    one.hash = hash_of(text);
    one.replaces = one.what == kind::content && mode_ == chat_mode::incremental;
    set_value(one, std::string(text));
}

void chat_list::set_value(message& one, std::string value) {
    bytes_ += value.size();
    bytes_ -= one.value.size();
    one.value = std::move(value);
    touch(one);
}

void chat_list::add_arguments(message& one, std::string_view text) {
    one.arguments.append(text);
    bytes_ += text.size();
}

void chat_list::set_answered(message& call) {
    call.answered = true;
    bytes_ -= call.arguments.size();
    std::string().swap(call.arguments);
    if (mode_ == chat_mode::incremental && !call.changed) {
        bytes_ -= call.value.size();
        std::string().swap(call.value);
    }
}

void chat_list::complete(message& one) {
    one.generated = true;
    touch(one);
}

void chat_list::finish(std::string_view stop_reason) {
    finished_ = true;
    stop_reason_ = escaped(stop_reason);
    changed_ = true;
}

void chat_list::touch(message& one) {
    one.changed = true;
    one.timestamp = time_;
    changed_ = true;
    first_changed_ = std::min(first_changed_, static_cast<std::size_t>(&one - messages_.data()));
}

// ---- Frames ------------------------------------------------------------------------------------

std::string_view chat_list::name_of(kind what) noexcept {
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

void chat_list::write_message(std::size_t index, std::string& out) const {
    const message& one = messages_[index];
    out.append(R"({"type":")").append(name_of(one.what)).append(R"(","value":)");
    if (is_text(one)) {
        out.push_back('"');
    }
    out.append(one.value);
    if (is_text(one)) {
        out.push_back('"');
    }
    out.append(R"(,"timestamp":)");
    append_number(out, one.timestamp);
    out.append(R"(,"id":")").append(id_).push_back('-');
    append_number(out, static_cast<std::int64_t>(index));
    out.append(one.generated ? R"(","status":"generated")" : R"(","status":"generating")");
    out.append(one.replaces ? R"(,"replace":true})" : "}");
}

void chat_list::write_frame(std::string& out) {
    out.append(head_).append(finished_ ? "finished" : "generating");
    if (!stop_reason_.empty()) {
        out.append(stop_reason_member).append(stop_reason_);
    }
    out.append(R"(","messages":[)");
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
    skip_frame();
}

void chat_list::skip_frame() {
    for (std::size_t i = first_changed_; i < messages_.size(); ++i) {
        message& one = messages_[i];
        if (!one.changed) {
            continue;
        }
        one.changed = false;
        if (mode_ == chat_mode::full) {
            continue;
        }
        one.replaces = false;
        if (one.what == kind::content) {
            bytes_ -= one.value.size();
            one.value.clear();
        } else if (one.generated && (one.what != kind::tool_call_request || one.answered)) {
            bytes_ -= one.value.size(); // It will not be sent again.
            std::string().swap(one.value);
        } else {
            one.reported = one.value.size();
            one.reported_at = one.timestamp;
        }
    }
    first_changed_ = none;
    changed_ = false;
}

std::size_t chat_list::frame_bytes() const noexcept {
    const std::size_t texts = bytes_ - messages_.size() * sizeof(message);
    const std::size_t stop =
        stop_reason_.empty() ? 0 : stop_reason_member.size() + stop_reason_.size();
    return head_.size() + status_bytes + stop + texts +
           messages_.size() * (message_bytes_around + id_.size());
}

std::size_t chat_list::frame_bytes_around() const noexcept {
    return head_.size() + status_bytes + content_bytes_around + id_.size();
}

} // namespace agui::translator
