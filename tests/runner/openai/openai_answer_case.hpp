#pragma once

/// Answers of chat completions as text.

#include "runner/openai/openai_chat_decoder.hpp"
#include "tests/runner/provider/decoder_cases.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

/// `data:` frames of the given texts.
inline std::string frames(const std::vector<std::string>& chunks) {
    std::string body;
    for (const std::string& each : chunks) {
        body += "data: " + each + "\n\n";
    }
    return body;
}

/// A chunk with this delta.
inline std::string delta(const std::string& members) {
    return R"({"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{)" +
           members + R"(},"finish_reason":null}]})";
}

inline std::string call(const std::string& members) {
    return delta(R"("tool_calls":[{)" + members + "}]");
}

inline std::string finish(const std::string& reason) {
    return R"({"choices":[{"index":0,"delta":{},"finish_reason":")" + reason + "\"}]}";
}

inline const std::string done = "[DONE]";

/// Each file of tests adds cases of its subject.
using OpenaiDecoderCases = DecoderCases<runner::openai_decoder>;

inline runner::model_outcome decode(std::string_view body) {
    recording_model_sink sink;
    runner::openai_decoder decoder(sink, "the-model", "the-provider");
    (void)decoder.feed(body);
    return decoder.finish();
}

} // namespace agui::test
