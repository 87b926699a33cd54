#include "runner/chat/run_chat.hpp"

#include "tests/runner/chat/chat_model.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {
namespace {

std::shared_ptr<test::chat_model> model_of(std::deque<test::chat_answer> answers) {
    auto model = std::make_shared<test::chat_model>();
    model->answers = std::move(answers);
    return model;
}

TEST(RunChat, BlocksUntilTheAnswerArrives) {
    const auto model = model_of(
        {{.calls = {{"c1", "add", R"({"a":17,"b":25})"}}, .tokens = 3},
         {.text = {"42"}, .tokens = 4}}
    );
    const server_tool add =
        tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; });

    const chat_result answer = run_chat({model}, "What is 17 plus 25?", {add});

    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->totals.content, "42");
    EXPECT_EQ(answer->totals.usage_total().input_tokens, 7);
    EXPECT_EQ(model->offered.at(0), std::vector<std::string>{"add"});
    EXPECT_EQ(session::text_of(model->asked.at(1).back().content), "42");
}

TEST(RunChat, ContinuesWithTheMessagesOfAChat) {
    const auto model = model_of({{.text = {"Hello."}}, {.text = {"Again."}}});
    chat_result first = run_chat({model}, "Hi");
    ASSERT_TRUE(first);

    first->messages.push_back(user("And?"));
    const chat_result second = run_chat({model}, first->messages);

    ASSERT_TRUE(second);
    EXPECT_EQ(model->asked.at(1).size(), 3U);
}

// The tool would wait forever. Its captures are destroyed with it.
TEST(RunChat, AToolThatDoesNotReturnEndsWithIt) {
    const auto captured = std::make_shared<int>(1);
    {
        const server_tool endless = tool(
            "endless", "",
            [captured]() -> boost::asio::awaitable<void> {
                boost::asio::steady_timer never(
                    co_await boost::asio::this_coro::executor,
                    boost::asio::steady_timer::time_point::max()
                );
                co_await boost::asio::this_coro::reset_cancellation_state(
                    boost::asio::disable_cancellation()
                );
                co_await never.async_wait(boost::asio::use_awaitable);
            },
            {.timeout = std::chrono::milliseconds(1)}
        );
        const auto model = model_of({{.calls = {{"c1", "endless"}}}, {.text = {"Late."}}});

        const chat_result answer = run_chat({model}, "Hi", {endless});

        ASSERT_TRUE(answer);
        EXPECT_EQ(
            session::text_of(model->asked.at(1).back().content), "The tool did not answer in time."
        );
    }
    EXPECT_EQ(captured.use_count(), 1);
}

} // namespace
} // namespace agui::runner
