#include "runner/chat/chat_loop_with_tools.hpp"

#include "tests/runner/chat/chat_model.hpp"
#include "tests/support/coroutine_test.hpp"
#include "tests/support/thread_builder.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace agui::runner {
namespace {

using lines = std::vector<std::string>;

tool_function gives(std::string text) {
    return [text](tool_invocation call) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{tool_outcome::kind::result, text + call.arguments_text};
    };
}

class ChatLoopWithTools : public test::coroutine_test {
protected:
    ChatLoopWithTools() {
        config.registry.add({"weather", "", {}}, gives("registry "));
        config.executors["weather"] = gives("executor ");
        config.executors["clock"] = gives("executor ");
        config.listeners = {
            .thinking = [this](std::string_view text) { said("thinking " + std::string(text)); },
            .content = [this](std::string_view text) { said("content " + std::string(text)); },
            .calls =
                [this](const std::vector<session::tool_call>& calls, std::string_view content) {
                    std::string line = "calls";
                    for (const session::tool_call& call : calls) {
                        line += " " + call.name;
                    }
                    said(line + " after \"" + std::string(content) + "\"");
                },
            .results =
                [this](const std::vector<chat_tool_result>& results) {
                    for (const chat_tool_result& each : results) {
                        said(
                            "result " + each.call_id + (each.failed ? " failed " : " ") +
                            session::text_of(each.content)
                        );
                    }
                }
        };
    }

    chat_result chat(stop_source* stop = nullptr) {
        return run(
            chat_loop_with_tools(owned_model{model}, {test::user("u1", "Hi")}, tools, config, stop)
        );
    }

    void said(std::string line) { heard.push_back(std::move(line)); }

    std::shared_ptr<test::chat_model> model = std::make_shared<test::chat_model>();
    /// These tools have no functions, so the functions are looked up.
    std::vector<server_tool> tools = {
        {{"weather", "", {}}, {}}, {{"clock", "", {}}, {}}, {{"imagined", "", {}}, {}}
    };
    chat_with_tools config;
    lines heard;
};

TEST_F(ChatLoopWithTools, RunsTheWholeConversation) {
    model->answers = {
        {.thoughts = {"Hm"}, .text = {"Let me see. "}, .calls = {{"c1", "weather"}}, .tokens = 5},
        {.text = {"Sunny."}, .tokens = 6}
    };

    const chat_result answered = chat();

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->reason, stop_reason::completed);
    EXPECT_EQ(answered->totals.content, "Let me see. Sunny.");
    EXPECT_EQ(answered->totals.rounds, 1U);
    EXPECT_EQ(answered->totals.calls.at(0).name, "weather");
    EXPECT_EQ(answered->totals.usage.at(0).output_tokens, 11);
    EXPECT_EQ(answered->messages.size(), 5U) << "user, reasoning, call, result, answer";
    EXPECT_EQ(
        heard, (lines{
                   "thinking Hm", "content Let me see. ", "calls weather after \"Let me see. \"",
                   "result c1 registry {}", "content Sunny."
               })
    );
    EXPECT_EQ(model->offered.at(0), (lines{"weather", "clock", "imagined"}));
}

TEST_F(ChatLoopWithTools, LooksInTheRegistryThenAmongTheExecutors) {
    model->answers = {
        {.calls = {{"c1", "weather"}, {"c2", "clock"}, {"c3", "imagined"}}}, {.text = {"Done."}}
    };

    ASSERT_TRUE(chat());

    EXPECT_THAT(heard, ::testing::Contains("result c1 registry {}"));
    EXPECT_THAT(heard, ::testing::Contains("result c2 executor {}"));
    EXPECT_THAT(heard, ::testing::Contains("result c3 failed Tool not registered"));
}

TEST_F(ChatLoopWithTools, AnExecutorTakesThePlaceOfAToolThatIsUnavailable) {
    config.registry.add(
        {"clock", "", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_return tool_outcome{tool_outcome::kind::unavailable, std::string("disabled")};
        }
    );
    config.registry.add(
        {"imagined", "", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_return tool_outcome{tool_outcome::kind::error, std::string("it began, and failed")};
        }
    );
    config.executors["imagined"] = gives("executor ");
    model->answers = {{.calls = {{"c1", "clock"}, {"c2", "imagined"}}}, {.text = {"Done."}}};

    ASSERT_TRUE(chat());

    EXPECT_THAT(heard, ::testing::Contains("result c1 executor {}"));
    EXPECT_THAT(heard, ::testing::Contains("result c2 failed it began, and failed"));
}

TEST_F(ChatLoopWithTools, TheTimeoutOfARegisteredToolHolds) {
    config.registry.add(
        {"clock", "", {}},
        [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            boost::asio::steady_timer never(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
            co_await never.async_wait(boost::asio::use_awaitable);
            co_return tool_outcome{};
        },
        {.timeout = std::chrono::milliseconds(1)}
    );
    model->answers = {{.calls = {{"c1", "clock"}}}, {.text = {"Done."}}};

    ASSERT_TRUE(chat());

    EXPECT_THAT(heard, ::testing::Contains("result c1 failed The tool did not answer in time."));
}

TEST_F(ChatLoopWithTools, PluginsTakePartInTheConversation) {
    class asking_twice final : public plugin {
    public:
        int turns = 0;
        boost::asio::awaitable<turn_clean_up> on_turn_start(plugin_turn& /*turn*/) override {
            ++turns;
            co_return turn_clean_up();
        }
        boost::asio::awaitable<void>
        on_after_request(plugin_turn& /*turn*/, after_request& request) override {
            if (session::text_of(request.message().content) == "Half.") {
                request.append_and_request(test::user("u2", "Go on"));
            }
            co_return;
        }
    };
    const auto taking_part = std::make_shared<asking_twice>();
    config.plugins = {taking_part};
    model->answers = {{.calls = {{"c1", "weather"}}}, {.text = {"Half."}}, {.text = {"Whole."}}};

    const chat_result answered = chat();

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->totals.content, "Half.Whole.");
    EXPECT_EQ(answered->totals.calls.size(), 1U);
    EXPECT_EQ(answered->messages.size(), 6U);
    EXPECT_EQ(taking_part->turns, 1);
}

TEST_F(ChatLoopWithTools, WorksWithoutARegistry) {
    config.registry = {};
    model->answers = {{.calls = {{"c1", "weather"}}}, {.text = {"Done."}}};

    ASSERT_TRUE(chat());

    EXPECT_THAT(heard, ::testing::Contains("result c1 executor {}"));
}

TEST_F(ChatLoopWithTools, OneListHasEachToolWithItsFunction) {
    tools = {tool("add", "Adds two numbers.", {"a", "b"}, [](double a, double b) { return a + b; })
    };
    model->answers = {{.calls = {{"c1", "add", R"({"a":1,"b":2})"}}}, {.text = {"Three."}}};

    ASSERT_TRUE(chat());

    EXPECT_EQ(model->offered.at(0), lines{"add"}) << "the registry has others";
    EXPECT_THAT(heard, ::testing::Contains("result c1 3"));
}

TEST_F(ChatLoopWithTools, ARegistryWithoutDefinitionsOffersItsOwn) {
    tools.clear();
    model->answers = {{.calls = {{"c1", "weather"}}}, {.text = {"Sunny."}}};

    ASSERT_TRUE(chat());

    EXPECT_EQ(model->offered.at(0), lines{"weather"});
    EXPECT_THAT(heard, ::testing::Contains("result c1 registry {}"));
}

// If a plugin answers a call or denies it, nobody executes it.
TEST_F(ChatLoopWithTools, OnlyCallsThatAreExecutedAreTold) {
    class meddler final : public plugin {
        boost::asio::awaitable<void>
        on_message_append(plugin_turn& /*turn*/, appended_message& appended) override {
            appended.deny_call("c1");
            co_return;
        }
        boost::asio::awaitable<void>
        on_after_request(plugin_turn& /*turn*/, after_request& request) override {
            if (!request.message().tool_calls.empty()) {
                request.append(test::answer("c2", "from the plugin"));
            }
            co_return;
        }
    };
    config.plugins = {std::make_shared<meddler>()};
    model->answers = {
        {.text = {"Now. "}, .calls = {{"c1", "weather"}, {"c2", "weather"}, {"c3", "weather"}}},
        {.text = {"Done."}}
    };

    const chat_result answered = chat();

    ASSERT_TRUE(answered) << answered.error().text();
    ASSERT_EQ(answered->totals.calls.size(), 1U);
    EXPECT_EQ(answered->totals.calls[0].id, "c3");
    EXPECT_THAT(heard, ::testing::Contains("calls weather after \"Now. \""));
}

TEST_F(ChatLoopWithTools, AnotherModelIsAskedWhenOneFails) {
    const auto second = std::make_shared<test::chat_model>();
    second->answers = {{.text = {"Here."}}};
    config.fallbacks = {{second}};

    const chat_result answered = chat();

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->totals.content, "Here.");
    EXPECT_EQ(model->asked.size(), 1U);
}

TEST_F(ChatLoopWithTools, TellsTheSegmentsOfAReply) {
    config.agent.reply = reply_format::items;
    config.listeners.segment = [this](const boost::json::object& segment) {
        said("segment " + boost::json::serialize(segment));
    };
    model->answers = {{.text = {R"([{"type":"chat","content":["Look:",{"type":"cat"}]}])"}}};

    ASSERT_TRUE(chat());

    EXPECT_EQ(heard, (lines{"content Look:", R"(segment {"type":"cat"})"}));
}

// A caller that is cancelled, as by a deadline, ends the chat and gets the results so far.
TEST_F(ChatLoopWithTools, ACancellationOfTheCallerIsAStop) {
    model->answers = {{.text = {"He"}, .stalls = true}};
    boost::asio::cancellation_signal leaving;
    std::optional<chat_result> ended;
    boost::asio::co_spawn(
        context(), chat_loop_with_tools(owned_model{model}, {user("Hi")}, tools, config),
        boost::asio::bind_cancellation_slot(
            leaving.slot(),
            [&ended](std::exception_ptr, chat_result result) { ended.emplace(std::move(result)); }
        )
    );
    context().poll();
    ASSERT_FALSE(ended);

    leaving.emit(boost::asio::cancellation_type::terminal);
    context().restart();
    context().run();

    ASSERT_TRUE(ended);
    ASSERT_FALSE(*ended);
    EXPECT_EQ(ended->error().what, stop_reason::cancelled);
    EXPECT_EQ(ended->error().so_far.totals.content, "He");
}

TEST_F(ChatLoopWithTools, AFailureHoldsTheExceptionsOfPlugins) {
    class thrower final : public plugin {
        boost::asio::awaitable<void>
        on_after_request(plugin_turn& /*turn*/, after_request& /*request*/) override {
            throw std::runtime_error("the disk is full");
            co_return;
        }
    };
    config.plugins = {std::make_shared<thrower>()};
    model->answers = {{.text = {"Hello."}}};

    const chat_result failed = chat();

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::error);
    EXPECT_EQ(failed.error().hook_errors, lines{"the disk is full"});
}

TEST_F(ChatLoopWithTools, TheCallsOfAChatAreLimited) {
    config.agent.limits.max_calls = 1;
    model->answers = {{.calls = {{"c1", "weather"}}}, {.calls = {{"c2", "clock"}}}};

    const chat_result failed = chat();

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().detail, "max_calls is exceeded");
    EXPECT_EQ(failed.error().so_far.totals.calls.size(), 1U);
}

TEST_F(ChatLoopWithTools, TooManyRoundsAreAFailureThatHoldsTheWork) {
    config.agent.max_rounds = 1;
    model->answers = {{.calls = {{"c1", "weather"}}}, {.calls = {{"c2", "clock"}}}};

    const chat_result failed = chat();

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::max_rounds);
    EXPECT_EQ(failed.error().detail, "max_rounds is exceeded");
    EXPECT_EQ(failed.error().so_far.totals.rounds, 2U);
    EXPECT_EQ(failed.error().so_far.totals.calls.size(), 1U) << "the second was not executed";
    EXPECT_THAT(heard, ::testing::Not(::testing::Contains("calls clock after \"\"")));
    EXPECT_THAT(heard, ::testing::Not(::testing::Contains("result c2 executor {}")));
}

TEST_F(ChatLoopWithTools, ALoopIsWarnedAndCanEndTheChat) {
    for (int i = 1; i <= 4; ++i) {
        model->answers.push_back({.calls = {{"c" + std::to_string(i), "weather"}}});
    }
    config.agent.limits.decide_loop = [](const found_loop& found) {
        return found.repeats == 3 ? loop_action::warn : loop_action::terminate;
    };

    const chat_result failed = chat();

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::tool_loop);
    EXPECT_THAT(heard, ::testing::Contains(::testing::StartsWith("result c3 Warning: ")));
    EXPECT_THAT(heard, ::testing::Not(::testing::Contains(::testing::StartsWith("result c4"))));
}

TEST_F(ChatLoopWithTools, AFunctionMayLeaveItsCallToTheCaller) {
    config.executors["clock"] = [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        co_return tool_outcome{tool_outcome::kind::external, std::string()};
    };
    model->answers = {{.calls = {{"c1", "clock"}}}};

    const chat_result answered = chat();

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->reason, stop_reason::external_tool);
    ASSERT_EQ(answered->pending.size(), 1U);
    EXPECT_EQ(answered->pending[0].id, "c1");
}

TEST_F(ChatLoopWithTools, ATextCutByLengthIsAnAnswer) {
    model->answers = {{.text = {"Once upon"}, .reason = finish_reason::length}};

    const chat_result answered = chat();

    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->reason, stop_reason::max_output_tokens);
}

TEST_F(ChatLoopWithTools, AStopEndsIt) {
    stop_source stop(context().get_executor());
    model->answers = {{.text = {"He"}, .stalls = true}};
    boost::asio::post(context(), [&] {
        boost::asio::post(context(), [&] { (void)stop.request(stop_reason::cancelled); });
    });

    const chat_result failed = chat(&stop);

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::cancelled);
    EXPECT_EQ(failed.error().so_far.totals.content, "He");
}

// The chat does not wait for a tool that ignores its cancellation, and the tool's captures stay
// alive.
TEST_F(ChatLoopWithTools, AToolMayOutliveTheChat) {
    boost::asio::steady_timer gate(context(), boost::asio::steady_timer::time_point::max());
    std::vector<std::string> ended;
    int started = 0;
    stop_source stop(context().get_executor());
    const auto outliving = [&](std::string name) -> tool_function {
        return [&, name](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await boost::asio::this_coro::reset_cancellation_state(
                boost::asio::disable_cancellation()
            );
            if (++started == 2) {
                (void)stop.request(stop_reason::cancelled);
            }
            co_await gate.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            ended.push_back(name);
            co_return tool_outcome{};
        };
    };
    config.executors["clock"] = outliving("an executor with a name that needs memory");
    config.registry = {};
    config.registry.add(
        {"weather", "", {}}, outliving("a registered tool with a name that needs memory")
    );
    model->answers = {{.calls = {{"c1", "weather"}, {"c2", "clock"}}}};

    const chat_result failed = chat(&stop);

    EXPECT_EQ(failed.error().what, stop_reason::cancelled);
    config = {};
    gate.cancel();
    context().restart();
    context().run();
    EXPECT_EQ(ended.size(), 2U);
}

TEST_F(ChatLoopWithTools, AListenerThatThrowsEndsIt) {
    config.listeners.calls = [](const std::vector<session::tool_call>&, std::string_view) {
        throw std::runtime_error("full");
    };
    model->answers = {{.calls = {{"c1", "weather"}}}};

    const chat_result failed = chat();

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::error);
    EXPECT_EQ(failed.error().detail, "full");
    EXPECT_THAT(heard, ::testing::Not(::testing::Contains("result c1 registry {}")));
}

TEST_F(ChatLoopWithTools, AFailureOfTheModelIsAFailure) {
    model_failure refused;
    refused.what = model_failure::kind::rejected;
    refused.status = 400;
    refused.detail = "an error status";
    refused.upstream = "no such model";
    refused.request_id = "req-1";
    model->answers = {{.failure = refused}};

    const chat_result failed = chat();

    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().what, stop_reason::model_rejected);
    EXPECT_EQ(failed.error().status, 400);
    EXPECT_EQ(failed.error().detail, "an error status");
    EXPECT_EQ(failed.error().upstream, "no such model");
    EXPECT_EQ(failed.error().request_id, "req-1");
    EXPECT_THROW((void)failed.value(), std::runtime_error);
}

} // namespace
} // namespace agui::runner
