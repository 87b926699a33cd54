#include "runner/chat/chat_loop.hpp"

#include "tests/runner/chat/chat_model.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/thread_builder.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using lines = std::vector<std::string>;

struct as_text {
    std::string operator()(const thinking_step& step) const { return "thinking " + step.text; }
    std::string operator()(const content_step& step) const { return "content " + step.text; }
    std::string operator()(const tool_calls_step& step) const {
        std::string text = "calls";
        for (const session::tool_call& call : step.calls) {
            text += " " + call.id + " " + call.name + call.arguments;
        }
        return text + " after \"" + step.content + "\"";
    }
    std::string operator()(const tool_results_step& step) const {
        return "results " + std::to_string(step.count);
    }
    std::string operator()(const done_step& step) const {
        const std::string_view code = error_code(step.reason);
        return "done " + std::string(code.empty() ? "ok" : code) + " \"" + step.totals.content +
               "\" rounds " + std::to_string(step.totals.rounds);
    }
};

class ChatLoop : public test::coroutine_test {
protected:
    void begin() {
        loop = std::make_unique<chat_loop>(
            context().get_executor(), model, std::vector<session::message>{test::user("u1", "Hi")},
            std::vector<tool_definition>{{"paint", "Paints", {}}}, settings
        );
    }

    std::string next() {
        const std::optional<chat_step> step = run(loop->next());
        return step ? std::visit(as_text(), *step) : "nothing";
    }

    /// Everything up to the next calls, or to the end.
    lines until_calls() {
        lines all;
        do {
            all.push_back(next());
        } while (!all.back().starts_with("calls") && !all.back().starts_with("done"));
        return all;
    }

    test::chat_model model;
    chat_loop_settings settings;
    std::unique_ptr<chat_loop> loop;
};

TEST_F(ChatLoop, GivesThoughtsAndTextAndTheEnd) {
    model.answers = {{.thoughts = {"Hm"}, .text = {"Hel", "lo"}, .tokens = 7}};
    begin();

    EXPECT_EQ(
        until_calls(),
        (lines{"thinking Hm", "content Hel", "content lo", "done ok \"Hello\" rounds 0"})
    );
    EXPECT_EQ(next(), "nothing");
    EXPECT_EQ(next(), "nothing");
    EXPECT_EQ(test::outline(loop->messages()).back().find("assistant"), 0U);
}

TEST_F(ChatLoop, GoesOnWithTheResultsOfTheProgram) {
    model.answers = {
        {.text = {"Let me see. "}, .calls = {{"c1", "paint"}, {"c2", "paint", R"({"a":1})"}}},
        {.text = {"Done."}}
    };
    begin();

    EXPECT_EQ(
        until_calls(),
        (lines{"content Let me see. ", R"(calls c1 paint{} c2 paint{"a":1} after "Let me see. ")"})
    );
    ASSERT_TRUE(loop->submit_tool_results(
        {{.call_id = "c2", .content = "blue"}, {.call_id = "c1", .content = "no", .failed = true}}
    ));
    EXPECT_EQ(
        until_calls(),
        (lines{"results 2", "content Done.", "done ok \"Let me see. Done.\" rounds 1"})
    );
    EXPECT_EQ(
        test::outline(model.asked.at(1)),
        (lines{
            "user u1: Hi", test::outline(model.asked.at(1)).at(1), "tool c1: ! no", "tool c2: blue"
        })
    );
    EXPECT_EQ(model.offered.at(0), (lines{"paint"}));
}

TEST_F(ChatLoop, TellsTheWholeUseOfTheChat) {
    model.answers = {{.calls = {{"c1", "paint"}}, .tokens = 5}, {.text = {"Done."}, .tokens = 6}};
    begin();
    (void)until_calls();
    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}));
    std::optional<done_step> done;
    while (const std::optional<chat_step> step = run(loop->next())) {
        if (const auto* const last = std::get_if<done_step>(&*step)) {
            done = *last;
        }
    }

    ASSERT_TRUE(done);
    ASSERT_EQ(done->totals.usage.size(), 1U);
    EXPECT_EQ(done->totals.usage[0].input_tokens, 11);
    ASSERT_EQ(done->totals.calls.size(), 1U);
    EXPECT_EQ(done->totals.calls[0].id, "c1");
}

TEST_F(ChatLoop, TakesResultsOfTheStepsCallsOnly) {
    model.answers = {{.calls = {{"c1", "paint"}}}, {.text = {"Done."}}};
    begin();
    EXPECT_EQ(loop->submit_tool_results({}).error().code, errc::unknown_tool_call)
        << "there is no step";
    (void)until_calls();

    EXPECT_EQ(
        loop->submit_tool_results({{.call_id = "c9", .content = ""}}).error().code,
        errc::unknown_tool_call
    );
    EXPECT_EQ(
        loop->submit_tool_results({{.call_id = "c1", .content = "1"},
                                   {.call_id = "c1", .content = "2"}})
            .error()
            .code,
        errc::unknown_tool_call
    );
    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}));
    EXPECT_EQ(
        loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}).error().code,
        errc::unknown_tool_call
    ) << "they were submitted";
    EXPECT_THAT(until_calls().back(), ::testing::StartsWith("done ok"));
}

TEST_F(ChatLoop, ACallWithoutResultSaysSoToTheModel) {
    model.answers = {{.calls = {{"c1", "paint"}, {"c2", "paint"}}}, {.text = {"Done."}}};
    begin();
    (void)until_calls();
    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c2", .content = "ok"}}));
    (void)until_calls();

    EXPECT_EQ(
        test::outline(model.asked.at(1)).at(2),
        "tool c1: ! The call was not answered by the application."
    );
}

TEST_F(ChatLoop, AProgramThatForgetsTheResultsGetsATimeout) {
    settings.results_timeout = std::chrono::milliseconds(1);
    model.answers = {{.calls = {{"c1", "paint"}}}};
    begin();
    (void)until_calls();

    EXPECT_EQ(until_calls(), (lines{"done run_timeout \"\" rounds 1"}));
    EXPECT_FALSE(loop->submit_tool_results({{.call_id = "c1", .content = "late"}}));
}

TEST_F(ChatLoop, RoundsAreCountedOverTheWholeChat) {
    settings.agent.max_rounds = 2;
    settings.agent.limits.loop_threshold = 0;
    for (int i = 1; i <= 3; ++i) {
        model.answers.push_back({.calls = {{"c" + std::to_string(i), "paint"}}});
    }
    begin();
    for (int i = 1; i <= 2; ++i) {
        (void)until_calls();
        ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c" + std::to_string(i), .content = "ok"}
        }));
    }

    EXPECT_EQ(until_calls().back(), "done max_rounds_exceeded \"\" rounds 3");
}

TEST_F(ChatLoop, IsCancelledWhileTheModelAnswers) {
    model.answers = {{.text = {"He"}, .stalls = true}};
    begin();
    EXPECT_EQ(next(), "content He");

    loop->cancel();

    EXPECT_EQ(next(), "done user_stop \"He\" rounds 0");
}

TEST_F(ChatLoop, IsCancelledWhileItWaitsForResults) {
    model.answers = {{.calls = {{"c1", "paint"}}}};
    begin();
    (void)until_calls();

    loop->cancel();

    EXPECT_FALSE(loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}));
    EXPECT_EQ(next(), "done user_stop \"\" rounds 1");
}

TEST_F(ChatLoop, IsCancelledBeforeItsFirstStep) {
    model.answers = {{.text = {"Hi"}}};
    begin();

    loop->cancel();

    EXPECT_EQ(next(), "done user_stop \"\" rounds 0");
    EXPECT_TRUE(model.asked.empty());
}

TEST_F(ChatLoop, MayBeDestroyedAtAnyTime) {
    model.answers = {{.text = {"He"}, .stalls = true}};
    begin();
    EXPECT_EQ(next(), "content He");

    loop.reset();
    context().restart();
    context().run(); // Everything ends by itself.
}

TEST_F(ChatLoop, AFailureOfTheModelIsTheEnd) {
    begin();

    EXPECT_EQ(next(), "done model_rejected \"\" rounds 0");
}

// The model is read no faster than the steps are pulled.
TEST_F(ChatLoop, ASlowProgramHoldsTheModelBack) {
    const std::vector<std::string> words(1000, "word ");
    model.answers = {{.text = words}};
    begin();
    EXPECT_EQ(next(), "content word ");
    context().restart();
    context().poll();

    std::size_t count = 1;
    std::string last;
    while ((last = next()).starts_with("content")) {
        ++count;
    }
    EXPECT_EQ(count, words.size());
    EXPECT_THAT(last, ::testing::StartsWith("done ok"));
}

// With plugins, an answer is stored before the run ends.
TEST_F(ChatLoop, WithPluginsTheTextBeforeTheCallsIsStillTold) {
    settings.plugins = {std::make_shared<plugin>()};
    model.answers = {
        {.text = {"Let me paint."}, .calls = {{"c1", "paint"}}}, {.calls = {{"c2", "paint"}}}
    };
    begin();

    EXPECT_EQ(until_calls().back(), "calls c1 paint{} after \"Let me paint.\"");
    ASSERT_TRUE(loop->submit_tool_results({{"c1", "blue", false}}));
    EXPECT_EQ(until_calls().back(), "calls c2 paint{} after \"\"");
}

} // namespace
} // namespace agui::runner
