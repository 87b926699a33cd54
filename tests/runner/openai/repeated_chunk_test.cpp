#include "runner/openai/repeated_chunk.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

using test::delta;
using test::recording_model_sink;

std::string text_after(std::string_view learned, std::string_view chunk) {
    repeated_chunk repeated;
    repeated.learn(learned);
    return std::string(repeated.text_in(chunk));
}

TEST(RepeatedChunk, GivesTheTextOfAChunkThatIsTheSameOtherwise) {
    const std::string learned = delta(R"("content":"Hel")");
    EXPECT_EQ(text_after(learned, learned), "Hel");
    EXPECT_EQ(text_after(learned, delta(R"("content":"lo, there \u00e9")")), "") << "an escape";
    EXPECT_EQ(text_after(learned, delta("\"content\":\"lo \xC3\xA9\"")), "lo \xC3\xA9");
    EXPECT_EQ(text_after(delta(R"("content" : "Hel")"), delta(R"("content" : "lo")")), "lo");
}

TEST(RepeatedChunk, RandomLettersMayDiffer) {
    const std::string learned = R"({"a":{"content":"Hel"},"obfuscation":"Xyz"})";
    EXPECT_EQ(text_after(learned, R"({"a":{"content":"lo"},"obfuscation":""})"), "lo");
    EXPECT_EQ(text_after(learned, R"({"a":{"content":"lo"},"obfuscation":"abcdef"})"), "lo");
    for (const std::string_view other :
         {R"({"a":{"content":"lo"}})", R"({"a":{"content":"lo"},"obfuscation":"a\\"})",
          R"({"a":{"content":"lo"},"obfuscation":"a","error":"b"})",
          R"({"a":{"content":"lo"},"obfuscation":null})",
          R"({"a":{"content":"lo"},"obfuscation":"a)"}) {
        EXPECT_EQ(text_after(learned, other), "") << other;
    }
}

TEST(RepeatedChunk, GivesNothingWithoutACertainText) {
    const std::string learned = delta(R"("content":"Hel")");
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", learned},
        {learned, ""},
        {learned, delta(R"("content":"")")},
        {learned, delta(R"("content":"a\"b")")},
        {learned, delta("\"content\":\"a\nb\"")},
        {learned, delta("\"content\":\"a\xC3\"")},
        {learned, delta(R"("content":"a","refusal":"b")")},
        {learned, delta(R"("content":"a"},"index":{"x":"b")")},
        {learned, delta(R"("content": "lo")")},
        {delta(R"("content":"a","x":{"content":"b"})"),
         delta(R"("content":"a","x":{"content":"c"})")},
        {delta(R"("content":"a","\u0063ontent":"b")"), delta(R"("content":"c","\u0063ontent":"b")")
        },
        {delta(R"("content":["a"])"), delta(R"("content":["a"])")},
        {delta(R"("x":"content")"), delta(R"("x":"content")")},
    };
    for (const auto& [first, second] : cases) {
        EXPECT_EQ(text_after(first, second), "") << first << "\n" << second;
    }
}

TEST(RepeatedChunk, WhatCannotBeLearnedChangesNothing) {
    repeated_chunk repeated;
    repeated.learn(delta(R"("content":"Hel")"));
    repeated.learn(delta(R"("content":"\n")"));
    EXPECT_EQ(repeated.text_in(delta(R"("content":"lo")")), "lo");
}

// What a decoder makes of the chunks. With `are_all_new`, none of them repeats another: each has
// other blanks.
std::vector<std::string> read(const std::vector<std::string>& chunks, bool are_all_new) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "model", "provider");
    std::string blanks;
    for (const std::string& each : chunks) {
        (void)decoder.feed("data: {" + blanks + each.substr(1) + "\n\n");
        blanks += are_all_new ? " " : "";
    }
    const std::size_t counted = decoder.chunks();
    const model_outcome outcome = decoder.finish();
    std::vector<std::string> lines = sink.lines;
    lines.push_back(test::describe_answer(outcome) + " after " + std::to_string(counted));
    if (outcome && outcome->usage) {
        lines.push_back(std::to_string(outcome->usage->output_tokens.value_or(0)));
    }
    return lines;
}

// Members that do something, or nothing, in any combination and order.
TEST(RepeatedChunk, NoChunkDoesLessThanItWouldIfItWereParsed) {
    constexpr std::array<std::string_view, 22> members = {
        R"("content":"a")",
        R"("content":"b")",
        R"("content":"")",
        R"("content":null)",
        R"("content":"x\ny")",
        R"("content":"\ud83d")",
        R"("content":"\ude00")",
        "\"content\":\"\xF0\x9F\"",
        R"("content":[{"type":"text","text":"part"}])",
        R"("role":"assistant")",
        R"("reasoning_content":"")",
        R"("reasoning_content":"thought")",
        R"("reasoning":null)",
        R"("refusal":null)",
        R"("refusal":"no")",
        R"("tool_calls":[])",
        R"("tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}])",
        R"("function_call":null)",
        R"("reasoning_details":[])",
        R"("reasoning_details":[{"type":"reasoning.text","text":"detail"}])",
        R"("extra_content":{"k":1})",
        R"("usage":{"completion_tokens":3})",
    };
    constexpr std::array<std::string_view, 10> around = {
        R"(],"usage":null})",
        R"(],"usage":null,"obfuscation":"Qx3"})",
        "]}",
        R"(],"usage":{"prompt_tokens":1,"completion_tokens":2}})",
        R"(,{"index":0,"delta":{"content":"second"}}]})",
        R"(,{"index":1,"delta":{"content":"other"}}]})",
        R"(,5]})",
        R"(],"error":null})",
        R"(],"content":"outside"})",
        R"(],"x_groq":{"usage":{"completion_tokens":2}}})",
    };
    std::mt19937 random(7); // NOLINT(bugprone-random-generator-seed): the same cases each time
    const auto any_of = [&random](const auto& all) {
        return std::string(all[random() % all.size()]);
    };
    std::size_t texts = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::string> kinds;
        for (int i = 0; i < 2; ++i) {
            std::string chunk =
                R"({"choices":[{"index":)" + std::string(random() % 9 == 0 ? "1" : "0");
            chunk += R"(,"delta":{)" + any_of(members);
            for (unsigned more = random() % 3; more > 0; --more) {
                chunk += "," + any_of(members);
            }
            chunk += "}}" + any_of(around);
            kinds.push_back(chunk);
        }
        std::vector<std::string> chunks;
        for (int i = 0; i < 6; ++i) {
            chunks.push_back(kinds[random() % 2]);
        }
        const std::vector<std::string> lines = read(chunks, false);
        EXPECT_EQ(lines, read(chunks, true)) << test::frames(chunks);
        texts += lines.size();
    }
    EXPECT_GT(texts, 3000U);
}

} // namespace
} // namespace agui::runner
