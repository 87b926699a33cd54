#pragma once

#include "gateway/base/resumption.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>
#include <vector>

namespace agui::gateway {

/// An event that happens once. All waiters then continue, each on its own executor. Safe to use
/// from any thread. A wait cannot be cancelled, so a waiter must make sure that the event happens.
/// Must live until set() has returned.
class completion_event {
public:
    void set() {
        std::vector<resumption> waiters;
        {
            const std::lock_guard lock(mutex_);
            happened_ = true;
            waiters.swap(waiters_);
        }
        for (resumption& one : waiters) {
            std::move(one).post();
        }
    }

    [[nodiscard]] boost::asio::awaitable<void> wait() {
        const auto executor = co_await boost::asio::this_coro::executor;
        co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void()>(
            [this, &executor](auto handler) {
                resumption one(executor, std::move(handler));
                {
                    const std::lock_guard lock(mutex_);
                    if (!happened_) {
                        waiters_.push_back(std::move(one));
                        return;
                    }
                }
                std::move(one).post();
            },
            boost::asio::use_awaitable
        );
    }

private:
    mutex mutex_;
    std::vector<resumption> waiters_ AGUI_GUARDED_BY(mutex_);
    bool happened_ AGUI_GUARDED_BY(mutex_) = false;
};

} // namespace agui::gateway
