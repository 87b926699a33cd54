#pragma once

#include "gateway/base/completion_event.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <deque>
#include <memory>

namespace agui::gateway {

/// Admits at most `at_once` callers at a time; at most `most_waiting` others wait in the order of
/// arrival. Used for replies that take much memory while they are made. Safe to call from any
/// thread; must outlive its passes.
class bulkhead {
public:
    bulkhead(std::size_t at_once, std::size_t most_waiting) noexcept
        : most_waiting_(most_waiting), free_(at_once) {}
    bulkhead(const bulkhead&) = delete;
    bulkhead& operator=(const bulkhead&) = delete;

    /// Holds one place while it exists. Made by enter() only.
    class pass {
    public:
        explicit pass(bulkhead& owner) noexcept : owner_(owner) {}
        ~pass() { owner_.leave(); }
        pass(const pass&) = delete;
        pass& operator=(const pass&) = delete;

    private:
        bulkhead& owner_;
    };
    /// Returns a pass once there is a place for it, or null at once if too many are waiting
    /// already. Must not be cancelled.
    [[nodiscard]] boost::asio::awaitable<std::unique_ptr<pass>> enter();

private:
    void leave();

    const std::size_t most_waiting_;
    mutex mutex_;
    std::size_t free_ AGUI_GUARDED_BY(mutex_);
    std::deque<std::shared_ptr<completion_event>> waiting_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
