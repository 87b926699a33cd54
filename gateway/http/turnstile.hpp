#pragma once

#include "gateway/base/completion_event.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

namespace agui::gateway {

/// Lets so many through at a time, and so many others wait, one after the other as they came. For
/// what takes much memory while it is made. Any thread; outlives its passes.
class turnstile {
public:
    turnstile(std::size_t at_once, std::size_t most_waiting) noexcept
        : most_waiting_(most_waiting), free_(at_once) {}
    turnstile(const turnstile&) = delete;
    turnstile& operator=(const turnstile&) = delete;

    /// One of the places, while it exists.
    class pass {
    public:
        explicit pass(turnstile& owner) noexcept : owner_(owner) {}
        ~pass() { owner_.leave(); }
        pass(const pass&) = delete;
        pass& operator=(const pass&) = delete;

    private:
        turnstile& owner_;
    };
    /// Returns once there is a place; null, at once, where too many wait for one already. Not to be
    /// cancelled.
    [[nodiscard]] boost::asio::awaitable<std::unique_ptr<pass>> enter();

private:
    void leave();

    const std::size_t most_waiting_;
    std::mutex mutex_;
    std::size_t free_;
    std::deque<std::shared_ptr<completion_event>> waiting_;
};

} // namespace agui::gateway
