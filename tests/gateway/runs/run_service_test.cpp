// A run between its acceptance and its beginning.

#include "gateway/runs/run_service.hpp"

#include "gateway/log/stream_form.hpp"
#include "tests/session/store/store_fixture.hpp"

#include <boost/asio/co_spawn.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace agui::test {
namespace {

using gateway::accepted_run;
using gateway::event_log;
using gateway::requested_run;
using gateway::run_service;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class counting_model final : public runner::model_provider {
public:
    int asked = 0;

    boost::asio::awaitable<runner::model_outcome>
    ask(const runner::model_request&, runner::model_sink& sink) override {
        ++asked;
        sink.on_text("hello");
        co_return runner::model_answer{};
    }
};

// The outcome of the call that runs meanwhile.
template <class T>
using later = std::shared_ptr<std::optional<T>>;

class RunService : public coroutine_test {
protected:
    ~RunService() override { run(runs_.drain(std::chrono::steady_clock::now())); }

    static requested_run request(std::string run_id) {
        requested_run what;
        what.input.thread_id = "t";
        what.input.run_id = std::move(run_id);
        what.input.canonical = "the same";
        session::message user;
        user.id = "u-" + what.input.run_id;
        user.content = "hi";
        what.input.messages.push_back(std::move(user));
        return what;
    }

    accepted_run accept(std::string run_id) {
        return std::move(run(runs_.accept(request(std::move(run_id))))).value();
    }

    template <class T>
    later<T> meanwhile(boost::asio::awaitable<T> task) {
        auto outcome = std::make_shared<std::optional<T>>();
        boost::asio::co_spawn(
            context(), std::move(task),
            [outcome](const std::exception_ptr& thrown, T value) {
                EXPECT_FALSE(thrown);
                outcome->emplace(std::move(value));
            }
        );
        go_on();
        return outcome;
    }

    void go_on() {
        context().restart();
        context().poll();
    }

    boost::asio::awaitable<bool> drained(std::chrono::steady_clock::time_point deadline) {
        co_await runs_.drain(deadline);
        co_return true;
    }

    static std::string text_of(event_log& log) {
        std::string text;
        event_log::cursor at;
        (void)log.read(at, gateway::sse_form(), SIZE_MAX, text);
        return text;
    }

    static gateway::run_settings settings_with(runner::model_provider& model) {
        gateway::agent_entry agent;
        agent.settings.id = "default";
        agent.model = &model;
        gateway::run_settings settings;
        settings.agents.emplace("default", std::move(agent));
        settings.busy_wait = std::chrono::milliseconds(0);
        return settings;
    }

    const session::thread_key key_ = key_of("t");
    counting_model model_;
    const std::unique_ptr<session::store> store_ = session::make_memory_store();
    runner::tool_registry tools_;
    sequential_ids ids_;
    manual_clock time_;
    memory_logger log_;
    run_service runs_{{*store_, tools_, ids_, time_, log_}, settings_with(model_)};
};

TEST_F(RunService, AnAcceptedRunHasALogAndNothingStored) {
    accepted_run accepted = accept("r");

    ASSERT_NE(accepted.log, nullptr);
    EXPECT_EQ(accepted.log->last_sequence(), 0U);
    EXPECT_FALSE(accepted.log->ended());
    EXPECT_FALSE(run(store_->load(key_))->has_value());
    EXPECT_FALSE(run(store_->holder(key_))->has_value());
}

TEST_F(RunService, TheRunIsReadFromTheLogOfItsAcceptance) {
    accepted_run accepted = accept("r");
    const auto log = accepted.log;

    ASSERT_TRUE(run(runs_.begin(std::move(accepted))).has_value());
    run(runs_.drain(std::chrono::steady_clock::time_point::max()));

    EXPECT_THAT(text_of(*log), StartsWith("id: 1\ndata: {\"type\":\"RUN_STARTED\""));
    EXPECT_THAT(text_of(*log), HasSubstr("RUN_FINISHED"));
    EXPECT_EQ(model_.asked, 1);
}

TEST_F(RunService, ARepeatWaitsUntilTheFirstHasBegun) {
    accepted_run first = accept("r");
    const auto log = first.log;
    const auto repeat = meanwhile(runs_.accept(request("r")));
    EXPECT_FALSE(repeat->has_value());

    ASSERT_TRUE(run(runs_.begin(std::move(first))).has_value());
    go_on();

    ASSERT_TRUE(repeat->has_value());
    ASSERT_TRUE((*repeat)->has_value());
    EXPECT_EQ((***repeat).log, log);
    EXPECT_EQ((***repeat).to_begin, nullptr);
    EXPECT_TRUE(run(runs_.begin(std::move(***repeat))).has_value()) << "nothing is to be done";
    EXPECT_EQ(model_.asked, 1);
}

TEST_F(RunService, ARepeatReplacesARunThatNeverBegan) {
    std::optional<accepted_run> first = accept("r");
    const auto repeat = meanwhile(runs_.accept(request("r")));

    first.reset();
    go_on();

    ASSERT_TRUE(repeat->has_value());
    ASSERT_TRUE((*repeat)->has_value());
    EXPECT_TRUE(run(runs_.begin(std::move(***repeat))).has_value());
}

TEST_F(RunService, AStopReachesAnAcceptedRun) {
    accepted_run accepted = accept("r");
    const auto log = accepted.log;
    const auto stopped = meanwhile(runs_.cancel(key_, std::nullopt));
    EXPECT_FALSE(stopped->has_value());

    ASSERT_TRUE(run(runs_.begin(std::move(accepted))).has_value());
    run(runs_.drain(std::chrono::steady_clock::time_point::max()));
    go_on();

    ASSERT_TRUE(stopped->has_value());
    EXPECT_TRUE((*stopped)->value());
    EXPECT_EQ(model_.asked, 0);
    EXPECT_THAT(text_of(*log), HasSubstr("user_stop"));
}

TEST_F(RunService, ADrainWaitsForAcceptedRuns) {
    std::optional<accepted_run> accepted = accept("r");
    const auto over = meanwhile(drained(std::chrono::steady_clock::time_point::max()));
    EXPECT_FALSE(over->has_value());
    const auto refused = run(runs_.accept(request("r2")));
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, errc::draining);

    accepted.reset();
    go_on();

    EXPECT_TRUE(over->has_value());
}

TEST_F(RunService, IsAcceptedOnABusyThreadAndBeginsOnAFreeOne) {
    const auto held = run(store_->acquire(key_, "other"));
    ASSERT_TRUE(held.has_value());
    accepted_run first = accept("r1");
    const auto log = first.log;

    const auto begun = run(runs_.begin(std::move(first)));
    ASSERT_FALSE(begun.has_value());
    EXPECT_EQ(begun.error().code, errc::thread_busy);
    EXPECT_EQ(log->last_sequence(), 0U);

    store_->release(*held);
    EXPECT_TRUE(run(runs_.begin(accept("r2"))).has_value());
}

} // namespace
} // namespace agui::test
