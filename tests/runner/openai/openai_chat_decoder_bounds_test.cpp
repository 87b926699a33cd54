#include "runner/openai/openai_chat_decoder.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"
#include "tests/runner/openai/recording_model_sink.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agui::runner {
namespace {

using test::call;
using test::decode;
using test::delta;
using test::describe_answer;
using test::finish;
using test::frames;
using test::recording_model_sink;

TEST(OpenaiDecoder, BoundsTheNumberOfCalls) {
    const auto answer = [](int calls) {
        std::vector<std::string> chunks;
        for (int i = 0; i < calls; ++i) {
            chunks.push_back(call("\"index\":" + std::to_string(i) + R"(,"function":{"name":"f"})")
            );
        }
        chunks.push_back(finish("tool_calls"));
        return describe_answer(decode(frames(chunks)));
    };

    EXPECT_EQ(answer(128), "tool_calls");
    EXPECT_EQ(answer(129), "unavailable 0: the answer holds too many tool calls");
}

// Each change makes a message and several events, so that a small chunk could make megabytes.
TEST(OpenaiDecoder, BoundsHowOftenTextAndReasoningFollowEachOther) {
    const auto answer = [](int changes) {
        std::string choices;
        for (int i = 0; i < changes; ++i) {
            choices += i == 0 ? "" : ",";
            choices +=
                i % 2 == 0 ? R"({"delta":{"content":"a"}})" : R"({"delta":{"reasoning":"b"}})";
        }
        recording_model_sink sink;
        openai_decoder decoder(sink, "m", "p");
        decoder.feed(frames({R"({"choices":[)" + choices + R"(,{"finish_reason":"stop"}]})"}));
        return describe_answer(decoder.finish()) + ", " + std::to_string(sink.lines.size());
    };

    EXPECT_EQ(answer(1000), "stop, 1000");
    EXPECT_EQ(
        answer(5000), "unavailable 0: the answer changes between text and reasoning too often, 1000"
    );
}

// The inputs that cost the most of thousands (tests/bench/shape_search.cpp), by what they make.

TEST(OpenaiDecoder, EmptyObjectsMakeNothing) {
    std::string body;
    for (int i = 0; i < 50'000; ++i) {
        body += "{}";
    }
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    decoder.feed(body);

    EXPECT_EQ(decoder.chunks(), 0U);
    EXPECT_EQ(describe_answer(decoder.finish()), "unavailable 0: the body holds no answer");
    EXPECT_EQ(sink.lines, std::vector<std::string>());
}

TEST(OpenaiDecoder, EmptyTextsAfterArgumentsMakeNoCalls) {
    std::string arguments = R"({\"a\":1})";
    for (int i = 0; i < 20'000; ++i) {
        arguments += R"(\"\")";
    }
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");

    decoder.feed(frames(
        {call(R"("index":0,"id":"a","function":{"name":"f","arguments":")" + arguments + "\"}"),
         R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})"}
    ));

    EXPECT_EQ(describe_answer(decoder.finish()), "tool_calls");
    EXPECT_EQ(sink.lines, (std::vector<std::string>{"call 0 a f", R"(arguments 0 {"a":1})"}));
}

TEST(OpenaiDecoder, ManyBlocksOfReasoningAreHandedOverOnce) {
    struct : recording_model_sink {
        void on_turn_data(std::string_view key, const boost::json::value& value) override {
            if (key == "reasoning_details") {
                blocks.push_back(value.as_array().size());
            }
        }
        std::vector<std::size_t> blocks;
    } sink;
    std::string pieces;
    for (int i = 0; i < 2000; ++i) {
        pieces += R"({"type":"reasoning.text","text":"a"},{"type":"x"},)";
    }
    openai_decoder decoder(sink, "m", "p");

    decoder.feed(frames(
        {delta(R"("reasoning_details":[)" + pieces + "{}]"),
         R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"}
    ));

    EXPECT_EQ(describe_answer(decoder.finish()), "stop");
    EXPECT_EQ(sink.blocks, std::vector<std::size_t>{4001});
}

TEST(OpenaiDecoder, BoundsTheArgumentsOfAllCallsTogether) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");
    const std::string piece(64U << 10U, 'x');
    const std::string chunk =
        frames({call(R"("index":0,"id":"a","function":{"name":"f","arguments":")" + piece + "\"}")}
        );
    int fed = 0;
    while (fed < 1000 && decoder.feed(chunk)) {
        ++fed;
    }

    EXPECT_EQ(fed, 128);
    EXPECT_EQ(
        describe_answer(decoder.finish()),
        "unavailable 0: the arguments of the answer's tool calls are too long"
    );
}

TEST(OpenaiDecoder, BoundsAnEventThatNeverEnds) {
    recording_model_sink sink;
    openai_decoder decoder(sink, "m", "p");
    const std::string piece(1U << 20U, 'x');
    bool going_on = decoder.feed("data: ");
    int fed = 0;
    while (going_on && fed < 100) {
        going_on = decoder.feed(piece);
        ++fed;
    }

    EXPECT_EQ(fed, 16);
    EXPECT_EQ(
        describe_answer(decoder.finish()), "unavailable 0: an event of the answer is too long"
    );
}

TEST(OpenaiDecoder, KeepsOnlyTheBeginOfALongErrorText) {
    const model_outcome outcome =
        decode(frames({R"({"error":{"message":")" + std::string(30'000, 'x') + "\"}}"}));

    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().upstream, std::string(error_text_max, 'x'));
}

} // namespace
} // namespace agui::runner
