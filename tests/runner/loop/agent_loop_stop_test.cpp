#include "tests/runner/loop/agent_loop_fixture.hpp"
#include "tests/support/patience.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>

namespace agui::runner {
namespace {

using session::call_status;

TEST_F(AgentLoop, AStopInTheMiddleOfTextKeepsTheText) {
    model.turns = {
        {[](model_sink& sink) -> model_outcome {
             sink.on_text("Half");
             return model_answer{};
         },
         true}
    };
    sink.on_step = [this](const std::string& step) {
        if (step == "text Half") {
            boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(session::text_of(stored().nodes.at(1).message.content), "Half");
}

TEST_F(AgentLoop, AStopBeforeTheFirstTokenAsksNoFurther) {
    model.turns = {{[](model_sink&) -> model_outcome { return model_answer{}; }, true}};
    boost::asio::post(context(), [this] { (void)stop.request(stop_reason::run_timeout); });

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::run_timeout);
    EXPECT_EQ(stored().nodes.size(), 1U);
}

TEST_F(AgentLoop, ARunThatIsStoppedBeforeItStartsDoesNotAskTheModel) {
    (void)stop.request(stop_reason::shutdown);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::shutdown);
    EXPECT_TRUE(model.histories.empty());
}

TEST_F(AgentLoop, AResultThatWaitsForAnotherIsStoredWhenTheRunIsStopped) {
    tools.add({"never", "Waits", {}}, [](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
        boost::asio::steady_timer never(
            co_await boost::asio::this_coro::executor, boost::asio::steady_timer::time_point::max()
        );
        co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        co_return tool_outcome{};
    });
    tools.add(
        {"stops", "Ends, and the run is stopped after it", {}},
        [this](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            boost::asio::post(context(), [this] {
                boost::asio::post(context(), [this] {
                    (void)stop.request(stop_reason::cancelled);
                });
            });
            co_return tool_outcome{tool_outcome::kind::result, std::string("paid")};
        }
    );
    model.turns = {calls({{"c1", "never", "{}"}, {"c2", "stops", "{}"}})};

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(status_of("c2"), call_status::answered);
    EXPECT_THAT(sink.steps, ::testing::Contains("result c2 paid"));
}

TEST_F(AgentLoop, AToolThatIgnoresItsCancellationIsNotWaitedFor) {
    const auto release = std::make_shared<boost::asio::steady_timer>(
        context(), boost::asio::steady_timer::time_point::max()
    );
    tools.add(
        {"stubborn", "Ignores cancellation", {}},
        [release](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await boost::asio::this_coro::reset_cancellation_state(
                boost::asio::disable_cancellation()
            );
            co_await release->async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            co_return tool_outcome{tool_outcome::kind::result, std::string("late")};
        }
    );
    model.turns = {calls({{"c1", "stubborn", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        }
    };

    play();
    const std::vector<std::string> steps = sink.steps;
    release->cancel();
    context().restart();
    context().run();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
    EXPECT_EQ(sink.steps, steps) << "the late result must not be shown";
}

TEST_F(AgentLoop, AStopFromTheSinkEndsTheRunForItsReason) {
    model.turns = {
        {[](model_sink& sink) -> model_outcome {
             sink.on_text("Half");
             return model_answer{};
         },
         true}
    };
    sink.on_step = [this](const std::string& step) {
        if (step == "text Half") {
            (void)stop.request(stop_reason::token_limit);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::token_limit);
    EXPECT_EQ(session::text_of(stored().nodes.at(1).message.content), "Half");
}

TEST_F(AgentLoop, AStopWhileTheTurnIsCommittedStartsNoTool) {
    int started = 0;
    tools.add(
        {"count", "Counts", {}},
        [&started](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            ++started;
            co_return tool_outcome{};
        }
    );
    model.turns = {calls({{"c1", "count", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(started, 0);
    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AStopWhileAToolRunsStartsNoFurtherOne) {
    int started = 0;
    tools.add(
        {"count", "Counts and stops the run", {}},
        [this, &started](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            ++started;
            (void)stop.request(stop_reason::cancelled);
            co_return tool_outcome{};
        }
    );
    request.agent.max_parallel_tools = 1;
    model.turns = {calls({{"c1", "count", "{}"}, {"c2", "count", "{}"}})};

    play();

    EXPECT_EQ(started, 1);
    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
}

TEST_F(AgentLoop, AStopBeforeTheEndIsStoredHandsNothingOff) {
    model.turns = {calls({{"c1", "change_background", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "turn ended") {
            (void)stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_TRUE(sink.end.external_call_open);
    EXPECT_TRUE(sink.end.pending_call_ids.empty());
    EXPECT_EQ(status_of("c1"), call_status::dead);
}

TEST_F(AgentLoop, AStopBeforeAnswersAreWaitedForIsTheEnd) {
    request.next = session::next_step::wait_for_answers;
    (void)stop.request(stop_reason::cancelled);

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
}

TEST_F(AgentLoop, AStopOnceTheEndIsBeingStoredComesTooLate) {
    model.turns = {says("Hi")};
    bool counted = true;
    sink.on_step = [&](const std::string& step) {
        if (step == "finish") {
            counted = stop.request(stop_reason::cancelled);
        }
    };

    play();

    EXPECT_FALSE(counted);
    EXPECT_EQ(sink.end.reason, stop_reason::completed);
}

TEST_F(AgentLoop, ToolsAreCancelledWhenTheResultOfAnotherCannotBeShown) {
    bool ended = false;
    bool cancelled = false;
    tools.add(
        {"slow", "Waits until cancelled", {}},
        [&](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            boost::asio::steady_timer never(
                co_await boost::asio::this_coro::executor,
                boost::asio::steady_timer::time_point::max()
            );
            co_await boost::asio::this_coro::throw_if_cancelled(false);
            const auto [ec] =
                co_await never.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
            cancelled = ec == boost::asio::error::operation_aborted;
            ended = true;
            co_return tool_outcome{};
        }
    );
    model.turns = {calls({{"c1", "weather", "{}"}, {"c2", "slow", "{}"}})};
    sink.on_step = [](const std::string& step) {
        if (step.starts_with("result c1 sunny")) {
            throw std::runtime_error("cannot be shown");
        }
    };

    play();
    context().restart();
    context().run_for(std::chrono::seconds(ended ? 0 : 5)); // Nothing else is left to wait for.

    EXPECT_EQ(sink.end.reason, stop_reason::error);
    EXPECT_TRUE(ended) << "it goes on";
    EXPECT_TRUE(cancelled);
}

TEST_F(AgentLoop, AToolThatThrowsWhenCancelledLeavesNoOtherRunning) {
    int cancelled = 0;
    // The slots must not own it, because it owns the slots.
    std::vector<std::shared_ptr<void>> waiting;
    const auto waits = [&](bool throws) {
        return [&cancelled, &waiting,
                throws](tool_invocation) -> boost::asio::awaitable<tool_outcome> {
            co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
                [&cancelled, &waiting, throws](auto handler) {
                    auto own = boost::asio::get_associated_cancellation_slot(handler);
                    waiting.push_back(std::make_shared<decltype(handler)>(std::move(handler)));
                    own.assign([&cancelled, throws](boost::asio::cancellation_type) {
                        ++cancelled;
                        if (throws) {
                            throw std::runtime_error("will not");
                        }
                    });
                },
                boost::asio::use_awaitable
            );
            co_return tool_outcome{};
        };
    };
    tools.add({"bad", "Throws", {}}, waits(true));
    tools.add({"good", "Does not", {}}, waits(false));
    model.turns = {calls({{"c1", "bad", "{}"}, {"c2", "good", "{}"}})};
    sink.on_step = [this](const std::string& step) {
        if (step == "commit") {
            boost::asio::post(context(), [this] { (void)stop.request(stop_reason::cancelled); });
        }
    };

    const loop_services services{model, tools, ids, time, log, max_result_bytes};
    bool ended = false;
    boost::asio::co_spawn(
        context(), run_agent(request, services, sink, stop),
        [&](std::exception_ptr) { ended = true; }
    );
    for (int handlers = 0; !ended && handlers < 1'000; ++handlers) {
        try {
            context().run_one_for(test::patience);
        } catch (const std::runtime_error& error) { // Asio passes it on, as to a server's thread.
            EXPECT_STREQ(error.what(), "will not");
        }
    }

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(cancelled, 2);
    waiting.clear();
}

TEST_F(AgentLoop, AStopWhileTheThreadIsLoadedAgainAsksNoFurther) {
    model.turns = {calls({{"c1", "weather", "{}"}}), says("never")};
    sink.on_load = [this] {
        stop.request(stop_reason::cancelled);
    };

    play();

    EXPECT_EQ(sink.end.reason, stop_reason::cancelled);
    EXPECT_EQ(model.histories.size(), 1U);
}

} // namespace
} // namespace agui::runner
