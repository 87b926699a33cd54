#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace agui::runner {

namespace detail {

template <class T>
struct ended {
    std::optional<T> value;
    std::exception_ptr error;
};

template <class T>
boost::asio::awaitable<ended<T>> end_of(boost::asio::awaitable<T> operation) {
    ended<T> end;
    try {
        end.value.emplace(co_await std::move(operation));
    } catch (...) {
        end.error = std::current_exception();
    }
    co_return end;
}

} // namespace detail

/// Awaits `operation` until `deadline`; then cancels it (terminal), waits until it has ended, and
/// returns nullopt. Exceptions of the operation are passed on. Cancelling the caller cancels the
/// operation and gives its own result (a value or an exception), unlike the deadline.
template <class T>
[[nodiscard]] boost::asio::awaitable<std::optional<T>>
with_deadline(boost::asio::awaitable<T> operation, std::chrono::steady_clock::time_point deadline) {
    namespace asio = boost::asio;
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, deadline);
    // A group instead of co_spawn with a signal of our own, because it passes on the caller's
    // cancellation.
    auto [order, thrown, end, ec] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor, detail::end_of(std::move(operation)), asio::deferred),
            timer.async_wait(asio::deferred)
        )
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (order[0] == 1 && !ec) {
        co_return std::nullopt;
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    if (end.error) {
        std::rethrow_exception(end.error);
    }
    co_return std::move(end.value);
}

} // namespace agui::runner
