#include "runner/chat/chat_result.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace agui::runner {
namespace {

token_usage
used(std::string model, std::optional<std::int64_t> in, std::optional<std::int64_t> out) {
    token_usage made;
    made.model = std::move(model);
    made.input_tokens = in;
    made.output_tokens = out;
    return made;
}

TEST(ChatTotals, SumTheUseOfAllModels) {
    chat_totals totals;
    EXPECT_EQ(totals.usage_total().input_tokens, std::nullopt) << "nobody has counted";
    totals.usage = {used("one", 5, std::nullopt), used("two", 7, 2)};

    const token_usage sum = totals.usage_total();

    EXPECT_EQ(sum.input_tokens, 12);
    EXPECT_EQ(sum.output_tokens, 2);
    EXPECT_EQ(sum.reasoning_tokens, std::nullopt);
    EXPECT_EQ(sum.model, "");
}

TEST(ChatFailure, TellsAllThatIsKnown) {
    chat_failure failed;
    failed.what = stop_reason::model_rejected;
    EXPECT_EQ(failed.text(), "The model server refused the request.");
    failed.status = 401;
    failed.request_id = "req-7";
    failed.detail = "the server answered with an error status";
    failed.upstream = "no such key";
    failed.hook_errors = {"full"};

    EXPECT_EQ(
        failed.text(),
        "The model server refused the request. (the server answered with an error status; HTTP "
        "status 401; request req-7; the server said: no such key; a plugin has thrown: full)"
    );
    const chat_result result = failed;
    EXPECT_THROW((void)result.value(), std::runtime_error);
}

TEST(ChatEnd, IsAnAnswerIfThereIsSomethingToUse) {
    for (const auto& [what, is_answer] :
         {std::pair(stop_reason::completed, true), std::pair(stop_reason::max_output_tokens, true),
          std::pair(stop_reason::external_tool, true), std::pair(stop_reason::aborted, false),
          std::pair(stop_reason::cancelled, false), std::pair(stop_reason::max_rounds, false)}) {
        EXPECT_EQ((chat_end{{}, what}.is_answer()), is_answer) << describe(what);
    }
}

} // namespace
} // namespace agui::runner
