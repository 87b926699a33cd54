#pragma once

/// Answers of the Messages dialect as text, and the cases that the tests of the decoder are made
/// of.

#include "runner/anthropic/anthropic_chat.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"

#include <boost/json/serialize.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// Also keeps the data to be sent back.
class anthropic_sink final : public recording_model_sink {
public:
    void on_turn_data(std::string_view key, const boost::json::value& value) override {
        data += std::string(key) + " " + boost::json::serialize(value);
    }

    std::string data;
};

inline std::string describe_answer(const runner::model_outcome& outcome) {
    if (!outcome) {
        const runner::model_failure& failed = outcome.error();
        const std::string said = failed.upstream.empty() ? "" : ": " + failed.upstream;
        switch (failed.what) {
        case runner::model_failure::kind::unavailable:
            return "unavailable " + std::to_string(failed.status) + ": " + failed.detail + said;
        case runner::model_failure::kind::lost:
            return "lost";
        case runner::model_failure::kind::rejected:
            return "rejected " + std::to_string(failed.status) + said;
        case runner::model_failure::kind::timeout:
        case runner::model_failure::kind::memory:
        case runner::model_failure::kind::cancelled:
            return "not the decoder's business";
        }
    }
    std::string text;
    switch (outcome->reason) {
    case runner::finish_reason::stop:
        text = "stop";
        break;
    case runner::finish_reason::tool_calls:
        text = "tool_calls";
        break;
    case runner::finish_reason::length:
        text = "length";
        break;
    case runner::finish_reason::content_filter:
        text = "content_filter";
        break;
    }
    return outcome->unknown_reason.empty() ? text : text + " (" + outcome->unknown_reason + ")";
}

struct anthropic_case {
    const char* name;
    std::string body;
    std::vector<std::string> lines;
    std::string outcome;
    /// The record of the blocks, without its hashes; empty if there is none.
    std::string blocks = {};
};

inline void PrintTo(const anthropic_case& value, std::ostream* out) { *out << value.name; }

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

/// The blocks of a record, which follow its hashes.
inline std::string blocks_of(const std::string& data) {
    const std::string begin = "\"blocks\":";
    const std::size_t at = data.find(begin);
    return at == std::string::npos
               ? data
               : data.substr(at + begin.size(), data.size() - at - begin.size() - 1);
}

} // namespace agui::test
