#include "tests/translator/agui/agui_translator_case.hpp"

namespace agui::translator {
namespace {

using namespace agui_translator_case;

class AguiTranslatorUsage : public ::testing::Test {
protected:
    std::string last_line(
        std::vector<runner::token_usage> usage, translator_settings::usage_detail detail,
        stop_reason reason = stop_reason::completed, projection form = projection::v1_1
    ) {
        test::recorded_stream stream;
        agui_translator translator(stream, {.usage = detail});
        translator.start({.thread_id = "t", .run_id = "r", .parent_run_id = {}});
        runner::run_end end;
        end.reason = reason;
        end.usage = std::move(usage);
        translator.finish(end);
        return stream.last(form);
    }

    static runner::token_usage use(std::string model, std::int64_t in, std::int64_t out) {
        runner::token_usage usage;
        usage.provider = "openai";
        usage.model = std::move(model);
        usage.input_tokens = in;
        usage.output_tokens = out;
        return usage;
    }
};

using detail = translator_settings::usage_detail;

TEST_F(AguiTranslatorUsage, SumsPerProviderAndModel) {
    runner::token_usage first = use("a", 10, 2);
    first.reasoning_tokens = 1;
    runner::token_usage third = use("a", 5, 3);
    third.cached_input_tokens = 4;
    third.cache_write_input_tokens = 0;

    const std::string line = last_line({first, use("b", 1, 1), third}, detail::full);

    EXPECT_THAT(
        line,
        ::testing::EndsWith(
            R"("usage":[{"provider":"openai","model":"a","inputTokens":15,"outputTokens":5,"totalTokens":20,)"
            R"("reasoningTokens":1,"cachedInputTokens":4,"cacheWriteInputTokens":0},)"
            R"({"provider":"openai","model":"b","inputTokens":1,"outputTokens":1,"totalTokens":2}]})"
        )
    );
}

TEST_F(AguiTranslatorUsage, LeavesNamesOutOfTotals) {
    const std::string line = last_line({use("a", 10, 2), use("b", 1, 1)}, detail::totals);

    EXPECT_THAT(
        line,
        ::testing::EndsWith(R"("usage":[{"inputTokens":11,"outputTokens":3,"totalTokens":14}]})")
    );
}

TEST_F(AguiTranslatorUsage, IsAbsentWhenOffOrUnknown) {
    EXPECT_THAT(last_line({use("a", 10, 2)}, detail::off), Not(HasSubstr("usage")));
    EXPECT_THAT(last_line({}, detail::full), Not(HasSubstr("usage")));
    EXPECT_THAT(last_line({runner::token_usage{}}, detail::full), Not(HasSubstr("usage")));
}

TEST_F(AguiTranslatorUsage, LeavesCountsOutThatAClientRefuses) {
    runner::token_usage usage = use("a", -1, 2);
    usage.reasoning_tokens = std::int64_t{1} << 53;

    const std::string line = last_line({usage}, detail::full);

    EXPECT_THAT(
        line,
        ::testing::EndsWith(R"("usage":[{"provider":"openai","model":"a","outputTokens":2}]})")
    );
}

TEST_F(AguiTranslatorUsage, NeverSumsBeyondTheSafeIntegers) {
    const std::int64_t largest = (std::int64_t{1} << 53) - 1;

    const std::string line = last_line({use("a", largest, 0), use("a", largest, 1)}, detail::full);

    EXPECT_THAT(
        line,
        HasSubstr(
            R"("inputTokens":9007199254740991,"outputTokens":1,"totalTokens":9007199254740991)"
        )
    );
}

TEST_F(AguiTranslatorUsage, StandsOnEveryTerminalOfEveryPeer) {
    for (const stop_reason reason :
         {stop_reason::completed, stop_reason::cancelled, stop_reason::token_limit,
          stop_reason::error}) {
        for (const projection form : {projection::v1_1, projection::v1_0, projection::undeclared}) {
            SCOPED_TRACE(runner::describe(reason));
            EXPECT_THAT(
                last_line({use("a", 10, 2)}, detail::full, reason, form),
                HasSubstr(R"("usage":[{"provider":"openai")")
            );
        }
    }
}

} // namespace
} // namespace agui::translator
