#pragma once

/// Answers of the Responses dialect as text.

#include "tests/runner/provider/decoder_cases.hpp"

#include <string>

namespace agui::test::responses {

/// An event of this type (without `response.`), with these members after it.
inline std::string event(const std::string& type, const std::string& members = "") {
    return "event: response." + type + "\ndata: {\"type\":\"response." + type + "\"" +
           (members.empty() ? "" : "," + members) + "}\n\n";
}

inline std::string at(int index) { return "\"output_index\":" + std::to_string(index); }

/// Short, because each case is cut at every byte.
inline const std::string created = event("created", R"("response":{})");

inline std::string added(int index, const std::string& item) {
    return event("output_item.added", at(index) + ",\"item\":" + item);
}

inline std::string done(int index, const std::string& item) {
    return event("output_item.done", at(index) + ",\"item\":" + item);
}

/// `text` is JSON without its quotes, here and below.
inline std::string text_delta(int index, const std::string& text, int part = 0) {
    return event(
        "output_text.delta", at(index) + ",\"content_index\":" + std::to_string(part) +
                                 R"(,"item_id":"m","delta":")" + text + "\""
    );
}

inline std::string summary_delta(int index, const std::string& text, int part = 0) {
    return event(
        "reasoning_summary_text.delta",
        at(index) + ",\"summary_index\":" + std::to_string(part) + R"(,"delta":")" + text + "\""
    );
}

inline std::string arguments_delta(int index, const std::string& text) {
    return event("function_call_arguments.delta", at(index) + R"(,"delta":")" + text + "\"");
}

inline std::string arguments_done(int index, const std::string& text) {
    return event("function_call_arguments.done", at(index) + R"(,"arguments":")" + text + "\"");
}

inline std::string message_item(const std::string& content, const std::string& more = "") {
    return R"({"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[)" +
           content + "]" + more + "}";
}

inline std::string part_of(const std::string& text) {
    return R"({"type":"output_text","text":")" + text + R"(","annotations":[]})";
}

inline const std::string message_begun =
    R"({"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]})";

inline std::string message(int index, const std::string& text, const std::string& more = "") {
    return added(index, message_begun) + text_delta(index, text) +
           event("output_text.done", at(index) + R"(,"content_index":0,"text":")" + text + "\"") +
           done(index, message_item(part_of(text), more));
}

inline std::string call_item(
    const std::string& id, const std::string& name, const std::string& arguments,
    const std::string& status = "completed"
) {
    return R"({"type":"function_call","id":"fc_)" + id + R"(","status":")" + status +
           R"(","call_id":")" + id + R"(","name":")" + name + R"(","arguments":")" + arguments +
           "\"}";
}

inline std::string
call(int index, const std::string& id, const std::string& name, const std::string& arguments) {
    return added(index, call_item(id, name, "", "in_progress")) +
           arguments_delta(index, arguments) + arguments_done(index, arguments) +
           done(index, call_item(id, name, arguments));
}

inline std::string reasoning_item(
    const std::string& id, const std::string& summary = "", const std::string& encrypted = "ENC"
) {
    return R"({"type":"reasoning","id":")" + id + R"(","summary":[)" +
           (summary.empty() ? "" : R"({"type":"summary_text","text":")" + summary + "\"}") + "]" +
           (encrypted.empty() ? "" : R"(,"encrypted_content":")" + encrypted + "\"") + "}";
}

inline std::string reasoning(int index, const std::string& id, const std::string& summary = "") {
    return added(index, reasoning_item(id, "", "")) +
           (summary.empty() ? "" : summary_delta(index, summary)) +
           done(index, reasoning_item(id, summary));
}

inline const std::string usage =
    R"("usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":20},)"
    R"("output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":39})";

/// The last event; `more` are members of its response.
inline std::string end(const std::string& status = "completed", const std::string& more = "") {
    return event(status, R"("response":{"status":")" + status + "\"" + more + "}");
}

inline std::string incomplete(const std::string& reason) {
    return end("incomplete", R"(,"incomplete_details":{"reason":")" + reason + "\"}");
}

} // namespace agui::test::responses
