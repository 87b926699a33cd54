#include "runner/base/stop_source.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace agui::runner {
namespace {

namespace asio = boost::asio;

class StopSource : public ::testing::Test {
protected:
    void count_cancellations() {
        stop->slot().assign([this](asio::cancellation_type) { ++cancelled; });
    }

    asio::io_context context{1};
    std::optional<stop_source> stop{context.get_executor()};
    int cancelled = 0;
};

TEST_F(StopSource, FollowsAnotherOneWithItsReason) {
    stop_source inner(context.get_executor());
    inner.follow(*stop);
    stop_source innermost(context.get_executor());
    innermost.follow(inner);
    EXPECT_FALSE(innermost.requested());

    EXPECT_TRUE(stop->request(stop_reason::shutdown));

    EXPECT_TRUE(innermost.requested());
    EXPECT_EQ(innermost.reason(), stop_reason::shutdown);
    EXPECT_EQ(inner.close(), stop_reason::shutdown);
}

TEST_F(StopSource, CountsAtOnceAndCancelsOnItsExecutor) {
    count_cancellations();

    std::thread([this] { EXPECT_TRUE(stop->request(stop_reason::cancelled)); }).join();

    EXPECT_TRUE(stop->requested());
    EXPECT_EQ(cancelled, 0) << "never inside the call that requests the stop";
    context.run();
    EXPECT_EQ(cancelled, 1);
}

TEST_F(StopSource, KnowsTheFirstReasonOnly) {
    EXPECT_FALSE(stop->requested());

    EXPECT_TRUE(stop->request(stop_reason::run_timeout));
    EXPECT_TRUE(stop->request(stop_reason::shutdown));

    EXPECT_EQ(stop->reason(), stop_reason::run_timeout);
    EXPECT_EQ(stop->close(), stop_reason::run_timeout);
}

TEST_F(StopSource, ChecksWhetherItsResourceIsLost) {
    count_cancellations();
    bool is_lost = false;
    stop->stop_if([&] { return is_lost; }, stop_reason::store_unavailable);
    EXPECT_FALSE(stop->requested());

    is_lost = true;
    EXPECT_TRUE(stop->requested());
    EXPECT_EQ(stop->reason(), stop_reason::store_unavailable);

    is_lost = false;
    EXPECT_TRUE(stop->requested()) << "it stays stopped";
    EXPECT_EQ(cancelled, 0);
    context.run();
    EXPECT_EQ(cancelled, 1);
}

TEST_F(StopSource, DoesNotCloseAsIfNothingWereLost) {
    stop->stop_if([] { return true; }, stop_reason::store_unavailable);

    EXPECT_EQ(stop->close(), stop_reason::store_unavailable);
}

TEST_F(StopSource, AnEarlierReasonCountsMoreThanALoss) {
    stop->stop_if([] { return true; }, stop_reason::store_unavailable);
    EXPECT_TRUE(stop->request(stop_reason::cancelled));

    EXPECT_EQ(stop->close(), stop_reason::cancelled);
}

TEST_F(StopSource, RefusesStopsOnceItIsClosed) {
    count_cancellations();

    EXPECT_FALSE(stop->close());

    EXPECT_FALSE(stop->request(stop_reason::cancelled));
    EXPECT_FALSE(stop->requested());
    EXPECT_FALSE(stop->close());
    context.run();
    EXPECT_EQ(cancelled, 0);
}

class StopSourceRun : public StopSource {
protected:
    /// Runs `what` under the stop, then waits once more, so that handlers that are ready run.
    void begin(asio::awaitable<int> what) {
        const auto caller = [](stop_source& by, asio::awaitable<int> inner,
                               StopSourceRun& test) -> asio::awaitable<void> {
            test.value = co_await by.run(std::move(inner));
            test.returned = true;
            asio::steady_timer next(test.context, asio::steady_timer::time_point::min());
            co_await next.async_wait(asio::use_awaitable);
            test.went_on = true;
        };
        asio::co_spawn(
            context, caller(*stop, std::move(what), *this),
            [this](const std::exception_ptr& error) { thrown = error; }
        );
        settle();
    }
    void settle() {
        context.restart();
        context.poll();
    }
    asio::awaitable<int> wait_forever() {
        begun = true;
        asio::steady_timer timer(context, asio::steady_timer::time_point::max());
        boost::system::error_code ec;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        was_cancelled = ec == asio::error::operation_aborted;
        co_return 1;
    }
    asio::awaitable<int> return_at_once() {
        begun = true;
        co_return 7;
    }
    asio::awaitable<int> throw_at_once() {
        throw std::runtime_error("broken");
        co_return 0;
    }

    std::optional<int> value = -1;
    bool begun = false;
    bool was_cancelled = false;
    bool returned = false;
    bool went_on = false;
    std::exception_ptr thrown;
};

TEST_F(StopSourceRun, ReturnsTheResultOfTheOperation) {
    begin(return_at_once());

    EXPECT_EQ(value, 7);
    EXPECT_TRUE(went_on);
}

TEST_F(StopSourceRun, BeginsNothingAfterAStop) {
    stop->request(stop_reason::cancelled);
    begin(return_at_once());

    EXPECT_FALSE(begun);
    EXPECT_TRUE(returned);
    EXPECT_EQ(value, std::nullopt);
}

TEST_F(StopSourceRun, AStopCancelsTheOperationAndNotTheCaller) {
    begin(wait_forever());
    EXPECT_TRUE(begun);
    EXPECT_FALSE(returned);

    stop->request(stop_reason::cancelled);
    settle();

    EXPECT_TRUE(was_cancelled);
    EXPECT_EQ(value, std::nullopt) << "whatever it returned";
    EXPECT_TRUE(went_on);
    EXPECT_FALSE(thrown);
}

TEST_F(StopSourceRun, PassesOnExceptions) {
    begin(throw_at_once());

    EXPECT_TRUE(thrown);
    EXPECT_FALSE(returned);
}

TEST_F(StopSourceRun, AStopAfterItIsNotForIt) {
    begin(return_at_once());
    stop->request(stop_reason::cancelled);
    settle();

    EXPECT_EQ(value, 7);
}

TEST_F(StopSource, LetsNoExceptionOutOfItsExecutor) {
    stop->slot().assign([](asio::cancellation_type) { throw std::runtime_error("will not"); });

    EXPECT_TRUE(stop->request(stop_reason::cancelled));

    EXPECT_NO_THROW(context.run());
}

TEST_F(StopSource, WakesNobodyOnceItIsGone) {
    count_cancellations();
    EXPECT_TRUE(stop->request(stop_reason::cancelled));

    stop.reset();

    context.run();
    EXPECT_EQ(cancelled, 0);
}

} // namespace
} // namespace agui::runner
