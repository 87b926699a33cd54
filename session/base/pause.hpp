#pragma once

#include "session/base/as_result.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>

namespace agui {

/// Waits for `time`, on the caller's executor. Returns early if the caller is cancelled.
inline boost::asio::awaitable<void> pause(std::chrono::milliseconds time) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, time);
    co_await timer.async_wait(as_result);
}

} // namespace agui
