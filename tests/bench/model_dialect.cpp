#include "tests/bench/model_dialect.hpp"

#include <cstddef>

namespace agui::bench {

namespace {

constexpr std::size_t chunk_bytes = 333; // What api.openai.com sends for one token.

// A chunk of a completion, padded as OpenAI pads its own: by a member of random-looking letters.
std::string completion_chunk(
    const std::string& id, bool with_usage, std::string_view choices, std::string_view usage
) {
    std::string event = R"(data: {"id":")" + id +
                        R"(","object":"chat.completion.chunk","created":1790000000,)"
                        R"("model":"mock-2026-01-01","service_tier":"default",)"
                        R"("system_fingerprint":"fp_44709d6fcb","choices":)";
    event.append(choices);
    if (with_usage) {
        event.append(R"(,"usage":)").append(usage);
    }
    constexpr std::string_view opening = R"(,"obfuscation":")";
    constexpr std::string_view closing = "\"}\n\n";
    constexpr std::string_view letters = "pK3xQ9rTz7LmB2vYw8NcHd5JgF4sRaXe";
    event.append(opening);
    while (event.size() + closing.size() < chunk_bytes) {
        event.append(letters.substr(0, chunk_bytes - closing.size() - event.size()));
    }
    return event.append(closing);
}

std::string one_choice(std::string_view delta, std::string_view finish_reason) {
    std::string choice = R"([{"index":0,"delta":)";
    return choice.append(delta)
        .append(R"(,"logprobs":null,"finish_reason":)")
        .append(finish_reason)
        .append("}]");
}

// An event of Messages or Responses: both repeat its type as the event's name.
std::string named_event(std::string_view type, std::string_view members) {
    std::string event = "event: ";
    return event.append(type)
        .append("\ndata: {\"type\":\"")
        .append(type)
        .append("\",")
        .append(members)
        .append("}\n\n");
}

std::string response(const std::string& id, std::string_view status, std::string_view members) {
    std::string object =
        R"("response":{"id":"resp_)" + id +
        R"(","object":"response","created_at":1790000000,"model":"mock-2026-01-01","status":")";
    return object.append(status).append("\",").append(members).append("}");
}

std::string place(const std::string& id) {
    return R"("item_id":"msg_)" + id + R"(","output_index":0,"content_index":0,)";
}

std::string said(const std::string& text) {
    return R"({"type":"output_text","annotations":[],"logprobs":[],"text":")" + text + "\"}";
}

std::string item(const std::string& id, std::string_view status, const std::string& content) {
    std::string object =
        R"({"id":"msg_)" + id + R"(","type":"message","role":"assistant","status":")";
    return object.append(status).append(R"(","content":[)").append(content).append("]}");
}

} // namespace

std::optional<dialect> dialect_of(std::string_view request_line) noexcept {
    if (request_line.starts_with("post /v1/chat/completions ")) {
        return dialect::chat_completions;
    }
    if (request_line.starts_with("post /v1/messages ")) {
        return dialect::messages;
    }
    if (request_line.starts_with("post /v1/responses ")) {
        return dialect::responses;
    }
    return std::nullopt;
}

model_answer::model_answer(dialect spoken, std::uint64_t number, bool with_usage)
    : spoken_(spoken), with_usage_(with_usage) {
    constexpr std::size_t digits = 29;
    const std::string text = std::to_string(number);
    id_ = std::string(digits - text.size(), '0') + text;
}

std::string model_answer::opening() const {
    switch (spoken_) {
    case dialect::chat_completions:
        return completion_chunk(
            "chatcmpl-" + id_, with_usage_,
            one_choice(R"({"role":"assistant","content":"","refusal":null})", "null"), "null"
        );
    case dialect::messages:
        return named_event(
                   "message_start",
                   R"("message":{"id":"msg_)" + id_ +
                       R"(","type":"message","role":"assistant","model":"mock-2026-01-01",)"
                       R"("content":[],"stop_reason":null,"stop_sequence":null,)"
                       R"("usage":{"input_tokens":9,"output_tokens":1}})"
               ) +
               named_event(
                   "content_block_start", R"("index":0,"content_block":{"type":"text","text":""})"
               );
    case dialect::responses:
        return named_event(
                   "response.created",
                   R"("sequence_number":0,)" + response(id_, "in_progress", R"("output":[])")
               ) +
               named_event(
                   "response.output_item.added",
                   R"("sequence_number":1,"output_index":0,"item":)" + item(id_, "in_progress", "")
               ) +
               named_event(
                   "response.content_part.added",
                   R"("sequence_number":2,)" + place(id_) + R"("part":)" + said("")
               );
    }
    return {};
}

std::string model_answer::token(std::int64_t index, std::int64_t now_ns) {
    const std::string text = " t" + std::to_string(index) + "." + std::to_string(now_ns);
    switch (spoken_) {
    case dialect::chat_completions:
        return completion_chunk(
            "chatcmpl-" + id_, with_usage_, one_choice(R"({"content":")" + text + "\"}", "null"),
            "null"
        );
    case dialect::messages:
        return named_event(
            "content_block_delta",
            R"("index":0,"delta":{"type":"text_delta","text":")" + text + "\"}"
        );
    case dialect::responses:
        text_.append(text);
        return named_event(
            "response.output_text.delta", R"("sequence_number":)" + std::to_string(index + 3) +
                                              "," + place(id_) + R"("logprobs":[],"delta":")" +
                                              text + "\""
        );
    }
    return {};
}

std::string model_answer::ending(std::int64_t tokens) const {
    const std::string written = std::to_string(tokens);
    const std::string total = std::to_string(9 + tokens);
    switch (spoken_) {
    case dialect::chat_completions: {
        const std::string id = "chatcmpl-" + id_;
        std::string events =
            completion_chunk(id, with_usage_, one_choice("{}", "\"stop\""), "null");
        if (with_usage_) {
            events += completion_chunk(
                id, true, "[]",
                R"({"prompt_tokens":9,"completion_tokens":)" + written + R"(,"total_tokens":)" +
                    total + "}"
            );
        }
        return events + "data: [DONE]\n\n";
    }
    case dialect::messages:
        return named_event("content_block_stop", R"("index":0)") +
               named_event(
                   "message_delta", R"("delta":{"stop_reason":"end_turn","stop_sequence":null},)"
                                    R"("usage":{"output_tokens":)" +
                                        written + "}"
               ) +
               "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    case dialect::responses: {
        const auto number = [&](std::int64_t after) {
            return R"("sequence_number":)" + std::to_string(tokens + 3 + after) + ",";
        };
        const std::string whole = item(id_, "completed", said(text_));
        return named_event(
                   "response.output_text.done",
                   number(0) + place(id_) + R"("logprobs":[],"text":")" + text_ + "\""
               ) +
               named_event(
                   "response.content_part.done", number(1) + place(id_) + R"("part":)" + said(text_)
               ) +
               named_event(
                   "response.output_item.done", number(2) + R"("output_index":0,"item":)" + whole
               ) +
               named_event(
                   "response.completed",
                   number(3) + response(
                                   id_, "completed",
                                   R"("output":[)" + whole +
                                       R"(],"usage":{"input_tokens":9,"output_tokens":)" + written +
                                       R"(,"total_tokens":)" + total + "}"
                               )
               );
    }
    }
    return {};
}

} // namespace agui::bench
