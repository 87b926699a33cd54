#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <memory>

namespace agui::gateway {

/// Something that happens repeatedly, for one coroutine that waits for the next time or for a
/// deadline. Owned by shared_ptr, so that notify() is safe while the waiter is being destroyed.
class change_signal : public std::enable_shared_from_this<change_signal> {
public:
    /// `executor`: the waiter's.
    explicit change_signal(const boost::asio::any_io_executor& executor) : timer_(executor) {}

    /// Any thread.
    void notify() {
        boost::asio::post(timer_.get_executor(), [self = shared_from_this()] {
            self->told_ = true;
            self->timer_.cancel();
        });
    }

    /// Call on the executor. Returns once notify() was called since the last wait, or at
    /// `deadline`.
    [[nodiscard]] boost::asio::awaitable<void>
    wait_until(std::chrono::steady_clock::time_point deadline) {
        if (!told_) {
            timer_.expires_at(deadline);
            co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        }
        told_ = false;
    }

private:
    boost::asio::steady_timer timer_;
    bool told_ = false;
};

} // namespace agui::gateway
