#pragma once

#include "runner/base/stop_source.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>

namespace agui::runner {

/// Runs hooks side by side. Used on one executor. Owned by shared_ptr: a hook that ignores its
/// cancellation keeps the group alive until it returns, but the run ends without it (P9).
class hook_group : public std::enable_shared_from_this<hook_group> {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit hook_group(boost::asio::any_io_executor executor);

    /// Starts a hook, which must own everything that it uses.
    void start(boost::asio::awaitable<void> hook);

    /// Completes when all hooks have ended, one has thrown, wake() was called, a stop was requested
    /// (unless `stop` is null), or at `until`. Meanwhile nothing else may be bound to the slot of
    /// `stop`.
    [[nodiscard]] boost::asio::awaitable<void>
    wait(stop_source* stop, time_point until = time_point::max());
    void wake() noexcept;

    [[nodiscard]] bool done() const noexcept { return running_ == 0; }
    /// The first exception that a hook threw, or null.
    [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

    /// Cancels the hooks that are still running.
    void cancel() noexcept;

private:
    void on_end(const std::exception_ptr& thrown) noexcept;

    boost::asio::any_io_executor executor_;
    boost::asio::steady_timer signal_;
    std::deque<boost::asio::cancellation_signal> cancellations_; ///< Stable addresses.
    std::size_t running_ = 0;
    std::exception_ptr error_;
    bool woken_ = false;
};

} // namespace agui::runner
