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

/// Something that happens again and again, for one coroutine that waits for the next time, up to a
/// moment. Owned by shared_ptr, so that it may be told while its waiter goes away.
class change_signal : public std::enable_shared_from_this<change_signal> {
public:
    /// `executor`: the waiter's.
    explicit change_signal(const boost::asio::any_io_executor& executor) : timer_(executor) {}

    /// Any thread.
    void tell() {
        boost::asio::post(timer_.get_executor(), [self = shared_from_this()] {
            self->told_ = true;
            self->timer_.cancel();
        });
    }

    /// On the executor. Returns when it was told since the last wait, or at `deadline`.
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
