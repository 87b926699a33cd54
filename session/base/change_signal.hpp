#pragma once

#include "session/base/as_result.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>

namespace agui {

/// Wakes one coroutine that waits for the next change or for a deadline. Owned by shared_ptr, so
/// that notify() is safe while the waiter is being destroyed.
class change_signal : public std::enable_shared_from_this<change_signal> {
public:
    /// `executor` belongs to the waiting coroutine.
    explicit change_signal(const boost::asio::any_io_executor& executor) : timer_(executor) {}

    /// Reports a change. Safe to call from any thread.
    void notify() {
        boost::asio::post(timer_.get_executor(), [self = shared_from_this()] {
            self->told_ = true;
            self->timer_.cancel();
        });
    }

    /// Returns at the next change, at once if there was one since the last wait, or at `deadline`.
    /// Call it on the executor, by one coroutine at a time.
    [[nodiscard]] boost::asio::awaitable<void>
    wait_until(std::chrono::steady_clock::time_point deadline) {
        if (!told_) {
            timer_.expires_at(deadline);
            co_await timer_.async_wait(as_result);
        }
        told_ = false;
    }

private:
    boost::asio::steady_timer timer_;
    bool told_ = false;
};

} // namespace agui
