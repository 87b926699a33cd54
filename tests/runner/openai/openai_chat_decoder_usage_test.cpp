#include "runner/openai/openai_chat.hpp"

#include "tests/runner/openai/openai_answer_case.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

using test::decode;
using test::delta;
using test::done;
using test::finish;
using test::frames;

TEST(OpenaiDecoder, ReadsUsageOfAChunkWithoutChoices) {
    const model_outcome outcome = decode(frames(
        {delta(R"("content":"a")"), finish("stop"),
         R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":20,"total_tokens":30,)"
         R"("prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}}})",
         done}
    ));

    ASSERT_TRUE(outcome && outcome->usage);
    const token_usage& usage = *outcome->usage;
    EXPECT_EQ(usage.provider, "the-provider");
    EXPECT_EQ(usage.model, "the-model");
    EXPECT_EQ(usage.input_tokens, 10);
    EXPECT_EQ(usage.output_tokens, 20);
    EXPECT_EQ(usage.cached_input_tokens, 4);
    EXPECT_EQ(usage.reasoning_tokens, 5);
    EXPECT_EQ(usage.cache_write_input_tokens, std::nullopt);
}

TEST(OpenaiDecoder, TakesTheLastOfRepeatedUsage) {
    const auto with_usage = [](int output) {
        return R"({"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":)" +
               std::to_string(output) + "}}";
    };

    const model_outcome outcome =
        decode(frames({with_usage(1), with_usage(2), with_usage(3), finish("stop"), done}));

    ASSERT_TRUE(outcome && outcome->usage);
    EXPECT_EQ(outcome->usage->output_tokens, 3);
    EXPECT_EQ(outcome->usage->input_tokens, 1);
}

TEST(OpenaiDecoder, ReadsUsageWhereverServersPutIt) {
    const std::string counts = R"({"prompt_tokens":19,"completion_tokens":13})";
    const std::vector<std::string> bodies = {
        frames({R"({"choices":[{"delta":{},"finish_reason":"stop","usage":)" + counts + "}]}"}),
        frames({R"({"choices":[{"delta":{"content":"a","usage":)" + counts + "}}]}", done}),
        frames(
            {delta(R"("content":"a")"), R"({"choices":[],"x_groq":{"usage":)" + counts + "}}",
             finish("stop")}
        ),
        frames({R"({"usage":)" + counts + "}", delta(R"("content":"a")"), finish("stop")}),
        R"({"choices":[{"message":{"content":"a","usage":)" + counts +
            R"(},"finish_reason":"stop"}]})",
        frames({R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],)"
                R"("prompt_eval_count":19,"eval_count":13})"}),
        frames(
            {delta(R"("content":"a")"), R"({"usage":{"input_tokens":19}})", finish("stop"),
             R"({"usage":{"output_tokens":13}})"}
        ),
    };
    for (const std::string& body : bodies) {
        SCOPED_TRACE(body);
        const model_outcome outcome = decode(body);
        ASSERT_TRUE(outcome && outcome->usage);
        EXPECT_EQ(outcome->usage->input_tokens, 19);
        EXPECT_EQ(outcome->usage->output_tokens, 13);
    }
}

TEST(OpenaiDecoder, ReadsUsageUnderAnyOfItsNames) {
    const std::vector<std::string> usages = {
        R"({"prompt_tokens":19,"completion_tokens":13,"prompt_tokens_details":{"cached_tokens":4},)"
        R"("completion_tokens_details":{"reasoning_tokens":5}})",
        R"({"input_tokens":19,"output_tokens":13,"input_tokens_details":{"cached_tokens":4},)"
        R"("output_tokens_details":{"reasoning_tokens":5}})",
        R"({"inputTokens":15,"outputTokens":13,"cacheReadInputTokens":4,"reasoningTokens":5})",
        R"({"input_tokens":12,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,)"
        R"("output_tokens":13,"reasoning_tokens":5})",
        R"({"prompt_tokens":19,"completion_tokens":13,"prompt_cache_hit_tokens":4,)"
        R"("completion_tokens_details":{"reasoning_tokens":5}})",
        R"({"promptTokenCount":19,"candidatesTokenCount":13,"cachedContentTokenCount":4,)"
        R"("thoughtsTokenCount":5})",
        R"({"promptTokens":19.0,"completionTokens":13.0,"cachedTokens":4,"reasoningTokens":5})",
    };
    for (const std::string& usage : usages) {
        SCOPED_TRACE(usage);
        const model_outcome outcome =
            decode(frames({finish("stop"), R"({"choices":[],"usage":)" + usage + "}"}));
        ASSERT_TRUE(outcome && outcome->usage);
        EXPECT_EQ(outcome->usage->input_tokens, 19);
        EXPECT_EQ(outcome->usage->output_tokens, 13);
        EXPECT_EQ(outcome->usage->cached_input_tokens, 4);
        EXPECT_EQ(outcome->usage->reasoning_tokens, 5);
    }
}

TEST(OpenaiDecoder, ReportsNoUsageWhereThereIsNone) {
    const model_outcome outcome = decode(frames(
        {R"({"choices":[{"delta":{"content":"a"}}],"usage":null})",
         R"({"choices":[],"usage":{"prompt_tokens":"many"}})", finish("stop"), done}
    ));

    ASSERT_TRUE(outcome);
    EXPECT_FALSE(outcome->usage);
}

} // namespace
} // namespace agui::runner
