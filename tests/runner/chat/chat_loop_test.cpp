#include "runner/chat/chat_loop.hpp"

#include "tests/runner/chat/chat_model.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <chrono>
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
    std::string operator()(const segment_step& step) const {
        return "segment " + boost::json::serialize(step.segment);
    }
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
        const std::string_view code = error_code(step.what);
        return "done " + std::string(code.empty() ? "ok" : code) + " \"" + step.totals.content +
               "\" rounds " + std::to_string(step.totals.rounds);
    }
};

class ChatLoop : public test::coroutine_test {
protected:
    void begin() {
        loop = std::make_unique<chat_loop>(
            context().get_executor(), owned_model{model}, std::vector{test::user("u1", "Hi")},
            std::vector<tool_definition>{{"paint", "Paints", {}}}, settings
        );
    }

    std::string next() {
        const std::optional<chat_step> step = run(loop->next());
        return step ? std::visit(as_text(), *step) : "nothing";
    }

    /// Returns all steps up to the next calls, or to the end.
    lines until_calls() {
        lines all;
        do {
            all.push_back(next());
        } while (!all.back().starts_with("calls") && !all.back().starts_with("done"));
        return all;
    }

    /// Gives the model answers with one call each, all different.
    void calls_for_ever(int tokens = 0) {
        for (int i = 1; i < 10; ++i) {
            const std::string id = std::to_string(i);
            model->answers.push_back(
                {.calls = {{"c" + id, "paint", R"({"n":)" + id + "}"}}, .tokens = tokens}
            );
        }
    }

    /// Answers each call. Returns the ids of the calls.
    lines results_until_the_end() {
        lines ids;
        while (const std::optional<chat_step> step = run(loop->next())) {
            last = std::visit(as_text(), *step);
            if (const auto* const ended = std::get_if<done_step>(&*step)) {
                done = *ended;
            }
            if (const auto* const called = std::get_if<tool_calls_step>(&*step)) {
                std::vector<chat_tool_result> results;
                for (const session::tool_call& call : called->calls) {
                    ids.push_back(call.id);
                    results.push_back({.call_id = call.id, .content = "ok"});
                }
                EXPECT_TRUE(loop->submit_tool_results(results));
            }
        }
        return ids;
    }

    std::string last; ///< Describes the step.
    done_step done;
    std::shared_ptr<test::chat_model> model = std::make_shared<test::chat_model>();
    chat_loop_settings settings;
    std::unique_ptr<chat_loop> loop;
};

TEST_F(ChatLoop, GivesThoughtsAndTextAndTheEnd) {
    model->answers = {{.thoughts = {"Hm"}, .text = {"Hel", "lo"}, .tokens = 7}};
    begin();

    EXPECT_EQ(
        until_calls(),
        (lines{"thinking Hm", "content Hel", "content lo", "done ok \"Hello\" rounds 0"})
    );
    EXPECT_EQ(next(), "nothing");
    EXPECT_EQ(next(), "nothing");
    EXPECT_EQ(test::outline(loop->messages()).back().find("assistant"), 0U);
}

TEST_F(ChatLoop, ContinuesWithTheResultsOfTheProgram) {
    model->answers = {
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
        test::outline(model->asked.at(1)),
        (lines{
            "user u1: Hi", test::outline(model->asked.at(1)).at(1), "tool c1: ! no", "tool c2: blue"
        })
    );
    EXPECT_EQ(model->offered.at(0), (lines{"paint"}));
}

TEST_F(ChatLoop, MendsResultsThatAreNotUtf8) {
    model->answers = {{.calls = {{"c1", "paint"}}}, {.text = {"Done."}}};
    begin();
    (void)until_calls();

    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c1", .content = "no\xFF", .failed = true}})
    );
    (void)until_calls();

    EXPECT_EQ(test::outline(model->asked.at(1)).back(), "tool c1: ! no\xEF\xBF\xBD");
}

TEST_F(ChatLoop, TellsTheWholeUseOfTheChat) {
    model->answers = {{.calls = {{"c1", "paint"}}, .tokens = 5}, {.text = {"Done."}, .tokens = 6}};
    begin();
    (void)until_calls();
    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}));
    (void)results_until_the_end();

    EXPECT_EQ(done.totals.usage_total().input_tokens, 11);
    ASSERT_EQ(done.totals.calls.size(), 1U);
    EXPECT_EQ(done.totals.calls[0].id, "c1");
}

TEST_F(ChatLoop, TakesResultsOfTheStepsCallsOnly) {
    model->answers = {{.calls = {{"c1", "paint"}}}, {.text = {"Done."}}};
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
    model->answers = {{.calls = {{"c1", "paint"}, {"c2", "paint"}}}, {.text = {"Done."}}};
    begin();
    (void)until_calls();
    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c2", .content = "ok"}}));
    (void)until_calls();

    EXPECT_EQ(
        test::outline(model->asked.at(1)).at(2),
        "tool c1: ! The call was not answered by the application."
    );
}

TEST_F(ChatLoop, AProgramThatForgetsTheResultsGetsATimeout) {
    settings.results_timeout = std::chrono::milliseconds(1);
    model->answers = {{.calls = {{"c1", "paint"}}}};
    begin();
    (void)until_calls();

    EXPECT_EQ(until_calls(), (lines{"done run_timeout \"\" rounds 1"}));
    EXPECT_FALSE(loop->submit_tool_results({{.call_id = "c1", .content = "late"}}));
}

// A program may take its time before it handles the calls.
TEST_F(ChatLoop, TheTimeForResultsBeginsWithThePull) {
    settings.results_timeout = std::chrono::milliseconds(0);
    model->answers = {{.calls = {{"c1", "paint"}}}, {.text = {"Done."}}};
    begin();
    context().poll();

    EXPECT_EQ(until_calls(), (lines{"calls c1 paint{} after \"\""}));
    ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}));
    EXPECT_EQ(until_calls().back(), "done ok \"Done.\" rounds 1");
}

TEST_F(ChatLoop, CallsCountOnceTheyAreLeftToTheProgram) {
    settings.agent.max_rounds = 1;
    calls_for_ever();
    begin();

    EXPECT_EQ(results_until_the_end(), lines{"c1"});
    EXPECT_EQ(done.totals.rounds, 2U);
    ASSERT_EQ(done.totals.calls.size(), 1U) << "nobody has seen the second";
    EXPECT_EQ(done.totals.calls[0].id, "c1");
    EXPECT_EQ(done.detail, "max_rounds is exceeded");
}

TEST_F(ChatLoop, AnotherModelIsAskedWhenOneFails) {
    const auto second = std::make_shared<test::chat_model>();
    model->given_name = "first";
    second->given_name = "second";
    settings.fallbacks = {{second}};
    second->answers = {{.calls = {{"c1", "paint"}}}, {.text = {"Done."}}};
    begin();

    EXPECT_EQ(results_until_the_end(), lines{"c1"});
    EXPECT_EQ(last, "done ok \"Done.\" rounds 1");
    EXPECT_EQ(model->asked.size(), 1U) << "the one that has answered goes on";
}

TEST_F(ChatLoop, GivesTheSegmentsOfAReply) {
    settings.agent.reply = reply_format::items;
    model->answers = {
        {.text =
             {R"([{"type":"thought","content":"Hm"},)",
              R"({"type":"chat","content":["Look:",{"type":"image","name":"cat"}]}])"}}
    };
    begin();

    EXPECT_EQ(
        until_calls(), (lines{
                           "thinking Hm", "content Look:",
                           R"(segment {"type":"image","name":"cat"})", "done ok \"Look:\" rounds 0"
                       })
    );
}

TEST_F(ChatLoop, AStopByAPluginIsNotTheUsers) {
    class refuser final : public plugin {
        boost::asio::awaitable<void>
        on_before_request(plugin_turn& /*turn*/, request_draft& /*request*/) override {
            throw turn_aborted();
            co_return;
        }
    };
    settings.plugins = {std::make_shared<refuser>()};
    begin();

    EXPECT_EQ(next(), "done plugin_stop \"\" rounds 0");
}

TEST_F(ChatLoop, RoundsAreCountedOverTheWholeChat) {
    settings.agent.max_rounds = 2;
    settings.agent.limits.loop_threshold = 0;
    for (int i = 1; i <= 3; ++i) {
        model->answers.push_back({.calls = {{"c" + std::to_string(i), "paint"}}});
    }
    begin();
    for (int i = 1; i <= 2; ++i) {
        (void)until_calls();
        ASSERT_TRUE(loop->submit_tool_results({{.call_id = "c" + std::to_string(i), .content = "ok"}
        }));
    }

    EXPECT_EQ(until_calls().back(), "done max_rounds_exceeded \"\" rounds 3");
}

// Each hand-off is a run of its own, but the limit applies to the whole chat.
TEST_F(ChatLoop, TokensAreCountedOverTheWholeChat) {
    settings.agent.limits.max_tokens = 100;
    calls_for_ever(31);
    begin();

    EXPECT_EQ(results_until_the_end(), (lines{"c1", "c2"}));
    EXPECT_EQ(last, "done token_limit \"\" rounds 2");
}

TEST_F(ChatLoop, CallsAreCountedOverTheWholeChat) {
    settings.agent.limits.max_calls = 2;
    calls_for_ever();
    begin();

    EXPECT_EQ(results_until_the_end(), (lines{"c1", "c2"}));
    EXPECT_EQ(last, "done max_rounds_exceeded \"\" rounds 3");
}

TEST_F(ChatLoop, AnAnswerThatAPluginSplitsIsOneRound) {
    class splitter final : public plugin {
        boost::asio::awaitable<void>
        on_message_append(plugin_turn& /*turn*/, appended_message& appended) override {
            if (appended.message.tool_calls.empty()) {
                co_return;
            }
            session::message half = appended.message;
            session::tool_call more = half.tool_calls.back();
            half.tool_calls.pop_back();
            appended.append(half);
            half.tool_calls = {more};
            appended.append(half);
            appended.prevent_default();
        }
    };
    settings.plugins = {std::make_shared<splitter>()};
    settings.agent.max_rounds = 3;
    settings.agent.limits.loop_threshold = 0;
    for (int i = 1; i < 10; ++i) {
        const std::string id = std::to_string(i);
        model->answers.push_back({.calls = {{"a" + id, "paint"}, {"b" + id, "paint"}}});
    }
    begin();

    EXPECT_EQ(results_until_the_end(), (lines{"a1", "b1", "a2", "b2", "a3", "b3"}));
    EXPECT_EQ(last, "done max_rounds_exceeded \"\" rounds 4");
}

TEST_F(ChatLoop, AMessageOfAPluginBeginsNoTurn) {
    class reminder final : public plugin {
        boost::asio::awaitable<void>
        on_after_request(plugin_turn& /*turn*/, after_request& request) override {
            request.append(test::user("", "Be quick."));
            co_return;
        }
    };
    settings.plugins = {std::make_shared<reminder>()};
    settings.agent.max_rounds = 100;
    settings.agent.limits.max_turn_rounds = 2;
    calls_for_ever();
    begin();

    EXPECT_EQ(results_until_the_end(), (lines{"c1", "c2"}));
    EXPECT_EQ(last, "done max_rounds_exceeded \"\" rounds 3");
}

TEST_F(ChatLoop, IsCancelledWhileTheModelAnswers) {
    model->answers = {{.text = {"He"}, .stalls = true}};
    begin();
    EXPECT_EQ(next(), "content He");

    loop->cancel();

    EXPECT_EQ(next(), "done user_stop \"He\" rounds 0");
}

TEST_F(ChatLoop, IsCancelledWhileItWaitsForResults) {
    model->answers = {{.calls = {{"c1", "paint"}}}};
    begin();
    (void)until_calls();

    loop->cancel();

    EXPECT_FALSE(loop->submit_tool_results({{.call_id = "c1", .content = "ok"}}));
    EXPECT_EQ(next(), "done user_stop \"\" rounds 1");
}

TEST_F(ChatLoop, IsCancelledBeforeItsFirstStep) {
    model->answers = {{.text = {"Hi"}}};
    begin();

    loop->cancel();

    EXPECT_EQ(next(), "done user_stop \"\" rounds 0");
    EXPECT_TRUE(model->asked.empty());
}

TEST_F(ChatLoop, MayBeDestroyedAtAnyTime) {
    model->answers = {{.text = {"He"}, .stalls = true}};
    begin();
    EXPECT_EQ(next(), "content He");

    loop.reset();
    context().restart();
    context().run(); // All of it ends by itself.
}

TEST_F(ChatLoop, AFailureOfTheModelIsTheEnd) {
    begin();

    EXPECT_EQ(next(), "done model_rejected \"\" rounds 0");
}

// The model is read no faster than the steps are pulled.
TEST_F(ChatLoop, ASlowProgramHoldsTheModelBack) {
    const std::vector<std::string> words(1000, "word ");
    model->answers = {{.text = words}};
    begin();
    EXPECT_EQ(next(), "content word ");
    context().restart();
    context().poll();

    std::size_t count = 1;
    while ((last = next()).starts_with("content")) {
        ++count;
    }
    EXPECT_EQ(count, words.size());
    EXPECT_THAT(last, ::testing::StartsWith("done ok"));
}

// With plugins, an answer is stored before the run ends.
TEST_F(ChatLoop, WithPluginsTheTextBeforeTheCallsIsStillTold) {
    settings.plugins = {std::make_shared<plugin>()};
    model->answers = {
        {.text = {"Let me paint."}, .calls = {{"c1", "paint"}}}, {.calls = {{"c2", "paint"}}}
    };
    begin();

    EXPECT_EQ(until_calls().back(), "calls c1 paint{} after \"Let me paint.\"");
    ASSERT_TRUE(loop->submit_tool_results({{"c1", "blue", false}}));
    EXPECT_EQ(until_calls().back(), "calls c2 paint{} after \"\"");
}

} // namespace
} // namespace agui::runner
