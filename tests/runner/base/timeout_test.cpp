#include "runner/base/timeout.hpp"

#include "tests/support/coroutine_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace agui::runner {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

asio::awaitable<std::string> at_once(std::string value) { co_return value; }

asio::awaitable<std::string> failing() {
    throw std::runtime_error("broken");
    co_return "";
}

/// Waits forever, and returns how it was ended.
asio::awaitable<std::string> waiting() {
    asio::steady_timer never(co_await asio::this_coro::executor, steady_clock::time_point::max());
    co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
    co_return "cancelled";
}

/// Waits forever. After its cancellation it needs one more handler of the context.
asio::awaitable<std::string> slowly_ending() {
    co_await asio::this_coro::throw_if_cancelled(false);
    const std::string how = co_await waiting();
    for (int turn = 0; turn < 3; ++turn) {
        co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
    co_return how;
}

/// Waits forever, and throws when it is cancelled.
asio::awaitable<std::string> throwing_waiting() {
    asio::steady_timer never(co_await asio::this_coro::executor, steady_clock::time_point::max());
    co_await never.async_wait(asio::use_awaitable);
    co_return "";
}

class WithDeadline : public test::coroutine_test {
protected:
    std::optional<std::string> limited(asio::awaitable<std::string> operation, milliseconds limit) {
        return run(with_deadline(std::move(operation), steady_clock::now() + limit));
    }
};

TEST_F(WithDeadline, ReturnsAResultThatArrivesInTime) {
    EXPECT_EQ(limited(at_once("done"), milliseconds(60'000)), "done");
}

TEST_F(WithDeadline, ReturnsAnImmediateResultEvenIfTheDeadlineHasPassed) {
    EXPECT_EQ(limited(at_once("done"), milliseconds(-1)), "done");
}

TEST_F(WithDeadline, ReturnsNothingAtTheDeadline) {
    EXPECT_EQ(limited(waiting(), milliseconds(2)), std::nullopt);
    EXPECT_EQ(limited(throwing_waiting(), milliseconds(2)), std::nullopt);
}

TEST_F(WithDeadline, RethrowsWithoutWaitingForTheDeadline) {
    EXPECT_THROW((void)limited(failing(), milliseconds(60'000)), std::runtime_error);
}

TEST_F(WithDeadline, HandsOnTheCancellationOfItsCaller) {
    for (const int kind : {0, 1, 2}) {
        SCOPED_TRACE(kind);
        const bool throws = kind == 2;
        asio::cancellation_signal stop;
        std::optional<std::optional<std::string>> value;
        std::exception_ptr error;
        asio::co_spawn(
            context(),
            with_deadline(
                kind == 0   ? waiting()
                : kind == 1 ? slowly_ending()
                            : throwing_waiting(),
                steady_clock::now() + milliseconds(60'000)
            ),
            asio::bind_cancellation_slot(
                stop.slot(),
                [&](std::exception_ptr thrown, std::optional<std::string> result) {
                    error = thrown;
                    value = result;
                }
            )
        );
        context().restart();
        context().poll();
        stop.emit(asio::cancellation_type::terminal);
        context().restart();
        context().poll();

        ASSERT_TRUE(value);
        EXPECT_EQ(bool(error), throws);
        if (!throws) {
            EXPECT_EQ(*value, "cancelled");
        }
    }
}

} // namespace
} // namespace agui::runner
