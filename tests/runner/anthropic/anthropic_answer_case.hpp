#pragma once

/// Answers of the Messages dialect as text.

#include "tests/runner/provider/decoder_cases.hpp"

#include <string>

namespace agui::test {

/// An event of this type, with these members after it.
inline std::string event(const std::string& type, const std::string& members = "") {
    return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" +
           (members.empty() ? "" : "," + members) + "}\n\n";
}

inline std::string message_start() {
    return event(
        "message_start",
        R"("message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5",)"
        R"("content":[],"stop_reason":null,"stop_sequence":null,)"
        R"("usage":{"input_tokens":9,"cache_read_input_tokens":100,"output_tokens":1}})"
    );
}

inline const std::string ping = event("ping");

inline std::string block_start(int index, const std::string& block) {
    return event(
        "content_block_start", "\"index\":" + std::to_string(index) + ",\"content_block\":" + block
    );
}

inline std::string block_delta(
    int index, const std::string& type, const std::string& member, const std::string& text
) {
    return event(
        "content_block_delta", "\"index\":" + std::to_string(index) + R"(,"delta":{"type":")" +
                                   type + R"(",")" + member + R"(":")" + text + "\"}"
    );
}

inline std::string block_stop(int index) {
    return event("content_block_stop", "\"index\":" + std::to_string(index));
}

/// `text` is JSON without its quotes.
inline std::string text_delta(int index, const std::string& text) {
    return block_delta(index, "text_delta", "text", text);
}

inline std::string thinking_delta(int index, const std::string& text) {
    return block_delta(index, "thinking_delta", "thinking", text);
}

inline std::string signature_delta(int index, const std::string& text) {
    return block_delta(index, "signature_delta", "signature", text);
}

inline std::string json_delta(int index, const std::string& text) {
    return block_delta(index, "input_json_delta", "partial_json", text);
}

inline std::string text_start(int index) {
    return block_start(index, R"({"type":"text","text":""})");
}

inline std::string thinking_start(int index) {
    return block_start(index, R"({"type":"thinking","thinking":"","signature":""})");
}

inline std::string call_start(int index, const std::string& id, const std::string& name) {
    return block_start(
        index, R"({"type":"tool_use","id":")" + id + R"(","name":")" + name + R"(","input":{}})"
    );
}

inline std::string text_block(int index, const std::string& text) {
    return text_start(index) + text_delta(index, text) + block_stop(index);
}

inline std::string
thinking_block(int index, const std::string& text, const std::string& signature) {
    return thinking_start(index) + (text.empty() ? "" : thinking_delta(index, text)) +
           signature_delta(index, signature) + block_stop(index);
}

inline std::string call_block(
    int index, const std::string& id, const std::string& name, const std::string& arguments
) {
    return call_start(index, id, name) + json_delta(index, "") + json_delta(index, arguments) +
           block_stop(index);
}

inline std::string message_delta(const std::string& reason) {
    return event(
        "message_delta", R"("delta":{"stop_reason":")" + reason +
                             R"(","stop_sequence":null},"usage":{"output_tokens":7})"
    );
}

inline const std::string message_stop = event("message_stop");

inline std::string end_events(const std::string& reason) {
    return message_delta(reason) + message_stop;
}

} // namespace agui::test
