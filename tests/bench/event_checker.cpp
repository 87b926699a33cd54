#include "tests/bench/event_checker.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace agui::bench {
namespace {

constexpr std::string_view whitespace = " \t\r\n";

std::size_t skip_whitespace(std::string_view json, std::size_t at) {
    return std::min(json.find_first_not_of(whitespace, at), json.size());
}

// The position after the string that starts with the quote at `at`.
std::size_t skip_string(std::string_view json, std::size_t at) {
    for (++at; at < json.size() && json[at] != '"'; ++at) {
        if (json[at] == '\\') {
            ++at;
        }
    }
    return std::min(at + 1, json.size());
}

// The position after the value that starts at `at`.
std::size_t skip_value(std::string_view json, std::size_t at) {
    int depth = 0;
    while (at < json.size()) {
        const char letter = json[at];
        if (letter == '"') {
            at = skip_string(json, at);
        } else if (letter == '{' || letter == '[') {
            ++depth;
            ++at;
        } else if (letter == '}' || letter == ']') {
            if (depth == 0) {
                return at; // the end of an object or array that holds this number or literal
            }
            --depth;
            ++at;
        } else if (depth == 0) {
            return std::min(json.find_first_of(",}] \t\r\n", at), json.size());
        } else {
            ++at;
        }
        if (depth == 0) {
            return at;
        }
    }
    return at;
}

bool is_string(std::string_view raw, std::string_view text) {
    return raw.size() == text.size() + 2 && raw.front() == '"' &&
           raw.substr(1, text.size()) == text;
}

std::string shortened(std::string_view text) {
    constexpr std::size_t shown_bytes = 200;
    return std::string(text.substr(0, shown_bytes));
}

} // namespace

std::string_view json_member(std::string_view json, std::string_view name) {
    std::size_t at = skip_whitespace(json, 0);
    if (at >= json.size() || json[at] != '{') {
        return {};
    }
    at = skip_whitespace(json, at + 1);
    while (at < json.size() && json[at] == '"') {
        const std::size_t key_end = skip_string(json, at);
        const std::string_view key = json.substr(at, key_end - at);
        at = skip_whitespace(json, key_end);
        if (at >= json.size() || json[at] != ':') {
            return {};
        }
        at = skip_whitespace(json, at + 1);
        const std::size_t value_end = skip_value(json, at);
        if (is_string(key, name)) {
            return json.substr(at, value_end - at);
        }
        at = skip_whitespace(json, value_end);
        if (at >= json.size() || json[at] != ',') {
            return {};
        }
        at = skip_whitespace(json, at + 1);
    }
    return {};
}

event_checker::event_checker(expectation expected, token_times& times)
    : expected_(std::move(expected)), times_(times) {}

std::string event_checker::at_end() const {
    if (!ended_) {
        return "the body ended after " + std::to_string(next_token_) + " of " +
               std::to_string(expected_.tokens) + " tokens, without its last event";
    }
    if (next_token_ != expected_.tokens) {
        return "got " + std::to_string(next_token_) + " tokens instead of " +
               std::to_string(expected_.tokens);
    }
    return {};
}

std::string event_checker::take_tokens(std::string_view json_string) {
    std::string_view text = json_string.substr(1, json_string.size() - 2);
    while (!text.empty()) {
        std::uint32_t index = 0;
        std::int64_t stamp_ns = 0;
        const char* const end = text.data() + text.size();
        if (!text.starts_with(" t")) {
            return "not a token: " + shortened(text);
        }
        const auto index_end = std::from_chars(text.data() + 2, end, index);
        if (index_end.ec != std::errc() || index_end.ptr == end || *index_end.ptr != '.') {
            return "not a token: " + shortened(text);
        }
        const auto stamp_end = std::from_chars(index_end.ptr + 1, end, stamp_ns);
        if (stamp_end.ec != std::errc()) {
            return "not a token: " + shortened(text);
        }
        if (index != next_token_) {
            return "token " + std::to_string(index) + " where token " +
                   std::to_string(next_token_) + " was due";
        }
        if (stamp_ns > receive_ns_) {
            return "token " + std::to_string(index) + " arrived before it was sent";
        }
        if (index == 0) {
            first_stamp_ns_ = stamp_ns;
        }
        ++next_token_;
        times_.latency_ns.push_back(receive_ns_ - stamp_ns);
        times_.received_ns.push_back(receive_ns_);
        times_.mock_late_ns.push_back(stamp_ns - first_stamp_ns_ - index * expected_.interval_ns);
        text.remove_prefix(static_cast<std::size_t>(stamp_end.ptr - text.data()));
    }
    return {};
}

std::string openai_checker::on_event(std::string_view, std::string_view data) {
    if (ended()) {
        return "an event after [DONE]";
    }
    if (data == "[DONE]") {
        if (!stop_seen_) {
            return "[DONE] without a finish_reason before";
        }
        set_ended();
        return {};
    }
    const std::string_view choices = json_member(data, "choices");
    if (!choices.starts_with('[')) {
        return "not a completion chunk: " + shortened(data);
    }
    const std::string_view choice = choices.substr(1);
    if (choice == "]") {
        return json_member(data, "usage").starts_with('{') && stop_seen_
                   ? std::string()
                   : "a chunk without choices that is no usage chunk: " + shortened(data);
    }
    const std::string_view delta = json_member(choice, "delta");
    if (!role_seen_) {
        role_seen_ = is_string(json_member(delta, "role"), "assistant");
        if (!role_seen_) {
            return "the first chunk has no role: " + shortened(data);
        }
    }
    if (is_string(json_member(choice, "finish_reason"), "stop")) {
        stop_seen_ = true;
        return {};
    }
    const std::string_view content = json_member(delta, "content");
    if (content.size() < 2 || content.front() != '"') {
        return {};
    }
    if (stop_seen_) {
        return "content after the finish_reason";
    }
    return take_tokens(content);
}

std::string chat_checker::on_event(std::string_view, std::string_view data) {
    if (ended()) {
        return "a frame after the last one: " + shortened(data);
    }
    if (!is_string(json_member(data, "sessionId"), expected().thread_id) ||
        !is_string(json_member(data, "messageId"), expected().run_id)) {
        return "a frame of another run: " + shortened(data);
    }
    if (is_string(json_member(data, "msgStatus"), "finished")) {
        set_ended();
    }
    std::string_view messages = json_member(data, "messages");
    if (!messages.starts_with('[')) {
        return "a frame without messages: " + shortened(data);
    }
    messages.remove_prefix(1);
    if (messages == "]") {
        return {};
    }
    const std::string_view text = json_member(messages, "value");
    if (!is_string(json_member(messages, "type"), "content") || text.size() < 2) {
        return "not a content: " + shortened(data);
    }
    if (!full_) {
        return take_tokens(text);
    }
    if (text.size() < known_ + 2) {
        return "a content that has lost text: " + shortened(data);
    }
    const std::string added = '"' + std::string(text.substr(1 + known_));
    known_ = text.size() - 2;
    return take_tokens(added);
}

std::string agui_checker::take_id(std::string_view id) {
    if (id.empty()) {
        return {};
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), value);
    if (error != std::errc() || end != id.data() + id.size() || value <= last_id_) {
        return "id " + std::string(id) + " after id " + std::to_string(last_id_);
    }
    last_id_ = value;
    return {};
}

std::string agui_checker::take_first(std::string_view type, std::string_view data) {
    if (!is_string(type, "RUN_STARTED")) {
        return "the first event is no RUN_STARTED: " + shortened(data);
    }
    if (!is_string(json_member(data, "threadId"), expected().thread_id) ||
        !is_string(json_member(data, "runId"), expected().run_id)) {
        return "RUN_STARTED of another run: " + shortened(data);
    }
    started_ = true;
    return {};
}

std::string agui_checker::on_event(std::string_view id, std::string_view data) {
    if (ended()) {
        return "an event after RUN_FINISHED: " + shortened(data);
    }
    if (std::string objection = take_id(id); !objection.empty()) {
        return objection;
    }
    const std::string_view type = json_member(data, "type");
    if (!started_) {
        return take_first(type, data);
    }
    if (is_string(type, "TEXT_MESSAGE_CONTENT")) {
        const std::string_view delta = json_member(data, "delta");
        if (!message_open_ || delta.size() < 2 || delta.front() != '"') {
            return "content without an open message or a delta: " + shortened(data);
        }
        return take_tokens(delta);
    }
    if (is_string(type, "TEXT_MESSAGE_START") || is_string(type, "TEXT_MESSAGE_END")) {
        const bool opens = is_string(type, "TEXT_MESSAGE_START");
        if (opens == message_open_) {
            return "a text message opened or closed twice: " + shortened(data);
        }
        message_open_ = opens;
        return {};
    }
    if (is_string(type, "RUN_FINISHED")) {
        if (message_open_) {
            return "RUN_FINISHED while a text message is open";
        }
        set_ended();
        return {};
    }
    if (type.empty() || is_string(type, "RUN_ERROR") || is_string(type, "RUN_STARTED")) {
        return "not expected here: " + shortened(data);
    }
    return {};
}

} // namespace agui::bench
