#pragma once

/// Answers of chat completions as text, and the cases that the tests of the decoder are made of.

#include "runner/openai/openai_chat_decoder.hpp"
#include "tests/runner/provider/decoder_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace agui::test {

inline std::string describe(const runner::model_outcome& outcome) {
    if (!outcome) {
        switch (outcome.error().what) {
        case runner::model_failure::kind::unavailable:
            return "unavailable: " + outcome.error().detail +
                   (outcome.error().upstream.empty() ? "" : ": " + outcome.error().upstream);
        case runner::model_failure::kind::lost:
            return "lost";
        case runner::model_failure::kind::rejected:
            return "rejected " + std::to_string(outcome.error().status) + ": " +
                   outcome.error().upstream;
        case runner::model_failure::kind::timeout:
        case runner::model_failure::kind::memory:
        case runner::model_failure::kind::cancelled:
            return "not the decoder's business";
        }
    }
    return reason_text(outcome->reason);
}

struct answer_case {
    const char* name;
    std::string body;
    std::vector<std::string> lines;
    std::string outcome;
};

inline void PrintTo(const answer_case& value, std::ostream* out) { *out << value.name; }

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

/// Decodes each case in one piece and in several. Each file of tests adds cases of its subject.
class OpenaiDecoderCases : public ::testing::TestWithParam<answer_case> {
protected:
    /// Feeds the body as pieces of these lengths, the rest as one.
    void check(const std::vector<std::size_t>& pieces) {
        const answer_case& param = GetParam();
        recording_model_sink sink;
        runner::openai_decoder decoder(sink, "model", "provider");
        std::string_view rest = param.body;
        std::size_t at = 0;
        while (!rest.empty()) {
            const std::size_t wanted = at < pieces.size() ? pieces[at++] : rest.size();
            const std::size_t length = std::min(wanted, rest.size());
            const std::vector<char> piece(
                rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length)
            );
            (void)decoder.feed({piece.data(), piece.size()}); // Goes on after the end on purpose.
            rest.remove_prefix(length);
        }
        const runner::model_outcome outcome = decoder.finish();

        EXPECT_EQ(sink.lines, param.lines);
        EXPECT_FALSE(sink.contract_broken);
        EXPECT_EQ(describe(outcome), param.outcome);
    }
};

inline const auto name_of = [](const auto& param) {
    return std::string(param.param.name);
};

inline runner::model_outcome decode(std::string_view body) {
    recording_model_sink sink;
    runner::openai_decoder decoder(sink, "the-model", "the-provider");
    (void)decoder.feed(body);
    return decoder.finish();
}

} // namespace agui::test
