#include "runner/base/stop_source.hpp"

#include <boost/asio/io_context.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <thread>

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

TEST_F(StopSource, CountsAtOnceAndCancelsOnItsExecutor) {
    count_cancellations();

    std::thread([this] { EXPECT_TRUE(stop->request(stop_reason::cancelled)); }).join();

    EXPECT_TRUE(stop->requested());
    EXPECT_EQ(cancelled, 0) << "never inside of whoever asks";
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

TEST_F(StopSource, RefusesWhatComesOnceItIsClosed) {
    count_cancellations();

    EXPECT_FALSE(stop->close());

    EXPECT_FALSE(stop->request(stop_reason::cancelled));
    EXPECT_FALSE(stop->requested());
    EXPECT_FALSE(stop->close());
    context.run();
    EXPECT_EQ(cancelled, 0);
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
