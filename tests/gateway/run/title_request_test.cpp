#include "gateway/run/title_request.hpp"

#include "runner/base/model_circuit.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/thread_builder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace agui::gateway {
namespace {

using test::thread_builder;
using ::testing::HasSubstr;

TEST(TitleRequest, QuotesTheStartOfTheConversationAsJson) {
    thread_builder said;
    said.assistant("a0", "Welcome")
        .user("u1", "Ignore \"this\"\n}")
        .assistant("a1", "No.")
        .user("u2", "x");

    EXPECT_EQ(title_question(said.build()), R"({"user":"Ignore \"this\" }","assistant":"No."})");
}

TEST(TitleRequest, IsShortForALongConversation) {
    thread_builder said;
    said.user("u1", std::string(100'000, 'x')).assistant("a1", std::string(100'000, 'y'));

    EXPECT_LT(title_question(said.build()).size(), 4100U);
}

TEST(TitleRequest, NeedsAUserMessageWithText) {
    thread_builder said;
    said.assistant("a0", "Welcome");

    EXPECT_EQ(title_question(said.build()), "");
    EXPECT_EQ(title_question({}), "");
}

TEST(TitleRequest, HasFewTokensAndNoToolsOrThinking) {
    runner::model_parameters configured;
    configured.model = "small";
    configured.temperature = 0.5;
    configured.max_output_tokens = 4000;
    configured.reasoning_effort = "high";
    configured.tool_choice = runner::tool_choice{};
    configured.stop = {"."};
    configured.format = std::make_shared<runner::answer_format>();

    const runner::model_parameters made = title_parameters(configured, false);

    EXPECT_EQ(made.model, "small");
    EXPECT_EQ(made.temperature, 0.5);
    EXPECT_EQ(made.max_output_tokens, 100);
    EXPECT_FALSE(made.reasoning_effort || made.tool_choice || made.stop || made.format);
    EXPECT_EQ(title_parameters(configured, true).reasoning_effort, "none");
    configured.reasoning_effort = "minimal";
    configured.max_output_tokens = 20;
    EXPECT_EQ(title_parameters(configured, false).reasoning_effort, "minimal");
    EXPECT_EQ(title_parameters(configured, false).max_output_tokens, 20);
}

/// A model with a circuit that opens after one outage. It keeps its last request.
class title_model final : public runner::model_provider {
public:
    explicit title_model(runner::model_outcome outcome) : outcome_(std::move(outcome)) {}

    [[nodiscard]] std::shared_ptr<runner::model_circuit> circuit() const noexcept override {
        return circuit_;
    }
    boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request& request, runner::model_sink& sink) override {
        ++calls;
        instructions = request.instructions;
        tools = request.tools->size();
        for (int i = 0; i < 1000; ++i) {
            sink.on_text("Title ");
        }
        co_return outcome_;
    }

    int calls = 0;
    std::string instructions;
    std::size_t tools = 1;

private:
    memory_logger log_;
    runner::model_outcome outcome_;
    std::shared_ptr<runner::model_circuit> circuit_ = std::make_shared<runner::model_circuit>(
        runner::model_circuit::settings{.model = "m", .failures = 1}, system_clock(), log_
    );
};

class AskedTitle : public test::coroutine_test {
protected:
    title_answer ask(title_model& model) {
        return run(ask_for_title({&model, {}}, "{}", {"ada", {}}));
    }
};

TEST_F(AskedTitle, IsTheStartOfTheAnswer) {
    title_model model{runner::model_answer{}};

    EXPECT_THAT(ask(model).title, HasSubstr("Title Title"));
    EXPECT_LE(ask(model).title.size(), 80U);
    EXPECT_THAT(model.instructions, HasSubstr("data"));
    EXPECT_EQ(model.tools, 0U);
}

TEST_F(AskedTitle, IsNoneIfTheAnswerWasCutOffOrRefused) {
    for (const auto reason :
         {runner::finish_reason::length, runner::finish_reason::content_filter,
          runner::finish_reason::refusal, runner::finish_reason::tool_calls}) {
        title_model model{runner::model_answer{reason, {}}};

        EXPECT_EQ(ask(model).title, "");
    }
}

TEST_F(AskedTitle, CountsForTheCircuitOfItsModel) {
    title_model model{runner::model_failure{runner::model_failure::kind::unavailable, 503, "down"}};

    const title_answer first = ask(model);
    EXPECT_EQ(first.title, "");
    EXPECT_EQ(first.status, 503);
    EXPECT_EQ(first.detail, "down");

    EXPECT_EQ(ask(model).detail, "the model's circuit is open");
    EXPECT_EQ(model.calls, 1);
}

} // namespace
} // namespace agui::gateway
