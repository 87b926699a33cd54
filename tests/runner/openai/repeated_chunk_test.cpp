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

TEST(RepeatedChunk, TheChunksOwnIdAndTimeMayDiffer) {
    const auto chunk = [](std::string_view beginning) {
        return "{" + std::string(beginning) + R"("choices":[{"delta":{"content":"lo"}}]})";
    };
    const std::string learned = chunk(R"("id":"c-1","object":"x","created":1790000000,)");
    for (const std::string_view same :
         {R"("id":"c-1","object":"x","created":1790000000,)",
          "\"id\":\"other \xC3\xA9\",\"object\":\"x\",\"created\":1790000000999,",
          R"("id":"","object":"x","created":1,)"}) {
        EXPECT_EQ(text_after(learned, chunk(same)), "lo") << same;
    }
    for (const std::string_view other :
         {R"("id":"c\u0031","object":"x","created":1,)",
          "\"id\":\"c\xC3\",\"object\":\"x\",\"created\":1,",
          R"("id":null,"object":"x","created":1,)", R"("id":"c-1","object":"y","created":1,)",
          R"("id":"c-1","object":"x","created":,)", R"("id":"c-1","object":"x","created":01,)",
          R"("id":"c-1","object":"x","created":-1,)", R"("id":"c-1","object":"x","created":1.5,)",
          R"("id":"c-1,"object":"x","created":1,)", R"("object":"x","created":1,)"}) {
        EXPECT_EQ(text_after(learned, chunk(other)), "") << other;
    }
}

// Members of these names in other places may mean something.
TEST(RepeatedChunk, OtherIdsAndTimesMayNotDiffer) {
    const std::array<std::pair<std::string_view, std::string_view>, 4> cases = {{
        {R"({"a":{"id":"1","content":"b"}})", R"({"a":{"id":"2","content":"b"}})"},
        {R"({"object":"x","id":"1","content":"b"})", R"({"object":"x","id":"2","content":"b"})"},
        {R"({"a":{"created":1,"content":"b"}})", R"({"a":{"created":2,"content":"b"}})"},
        {R"({"content":"b","created":1})", R"({"content":"b","created":2})"},
    }};
    for (const auto& [learned, other] : cases) {
        EXPECT_EQ(text_after(learned, learned), "b");
        EXPECT_EQ(text_after(learned, other), "") << other;
    }
}

TEST(RepeatedChunk, AChunkThatIsTooLongIsNotKept) {
    const auto chunk = [](std::size_t bytes) {
        std::string text = R"({"content":"b","x":")";
        text.append(bytes - text.size() - 2, 'x');
        return text + "\"}";
    };
    EXPECT_EQ(text_after(chunk(2048), chunk(2048)), "b");
    EXPECT_EQ(text_after(chunk(2049), chunk(2049)), "");
}

// Such as chunks with probabilities.
TEST(RepeatedChunk, AStreamWhoseChunksAlwaysDifferStopsToLearn) {
    const auto chunk = [](int round, std::string_view text) {
        return R"({"x":)" + std::to_string(round) + R"(,"content":")" + std::string(text) + "\"}";
    };
    repeated_chunk repeated;
    for (int round = 0; round < 16; ++round) {
        repeated.learn(chunk(round, "a"));
        EXPECT_EQ(repeated.text_in(chunk(round, "b")), "b");
    }

    repeated.learn(chunk(16, "a"));

    EXPECT_EQ(repeated.text_in(chunk(16, "b")), "");
    EXPECT_EQ(repeated.text_in(chunk(15, "b")), "b");
}

// More models than shapes are kept for: each stream keeps its own.
TEST(RepeatedChunk, ManyStreamsOfManyModelsEachGetTheirText) {
    const auto chunk = [](std::size_t stream, std::string_view text) {
        return R"({"id":"c-)" + std::to_string(stream) + R"(","model":"m-)" +
               std::to_string(stream % 40) + R"(","content":")" + std::string(text) + "\"}";
    };
    std::vector<repeated_chunk> streams(120);
    for (std::size_t i = 0; i < streams.size(); ++i) {
        streams[i].learn(chunk(i, "first"));
    }
    for (std::size_t i = 0; i < streams.size(); ++i) {
        EXPECT_EQ(streams[i].text_in(chunk(i, "second")), "second");
        EXPECT_EQ(streams[i].text_in(chunk(i + 40, "third")), "third") << "the same model";
        EXPECT_EQ(streams[i].text_in(chunk(i + 1, "second")), "") << "another model";
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
    // Each chunk has another of these, as each stream has another id.
    constexpr std::array<std::string_view, 10> beginnings = {
        "",
        "",
        R"("id":"a1","created":17,)",
        R"("id":"a2","created":18,)",
        R"("id":"a2","object":"x","created":19,)",
        R"("id":"a3","object":"x","created":20,)",
        R"("created":0,)",
        R"("id":"error","created":21,)",
        R"("id":{"id":"a","created":5},"created":22,)",
        R"("id":"a\u0041","created":23,)",
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
                R"("choices":[{"index":)" + std::string(random() % 9 == 0 ? "1" : "0");
            chunk += R"(,"delta":{)" + any_of(members);
            for (unsigned more = random() % 3; more > 0; --more) {
                chunk += "," + any_of(members);
            }
            chunk += "}}" + any_of(around);
            kinds.push_back(chunk);
        }
        std::vector<std::string> chunks;
        for (int i = 0; i < 6; ++i) {
            chunks.push_back("{" + any_of(beginnings) + kinds[random() % 2]);
        }
        const std::vector<std::string> lines = read(chunks, false);
        EXPECT_EQ(lines, read(chunks, true)) << test::frames(chunks);
        texts += lines.size();
    }
    EXPECT_GT(texts, 3000U);
}

} // namespace
} // namespace agui::runner
