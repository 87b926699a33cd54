#include "session/store/lease.hpp"

#include <ctime>
#include <utility>

namespace agui::session {

std::chrono::nanoseconds time_since_boot() noexcept {
    timespec now{};
    (void)::clock_gettime(CLOCK_BOOTTIME, &now); // It cannot fail with a clock that Linux has.
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

void lease::on_lost(std::function<void()> handler) {
    {
        const std::lock_guard lock(handlers_mutex_);
        const state now = state_.load(std::memory_order_acquire);
        if (now == state::held) {
            on_lost_.swap(handler); // The former handler is destroyed without the lock.
            return;
        }
        if (now == state::released) {
            return;
        }
    }
    handler();
}

bool lease::set_released() noexcept {
    std::function<void()> dropped; // Destroyed without the lock.
    const std::lock_guard lock(handlers_mutex_);
    const state next = is_over() ? state::lost : state::released;
    state expected = state::held;
    if (!state_.compare_exchange_strong(expected, next, std::memory_order_acq_rel)) {
        return false;
    }
    dropped.swap(on_lost_);
    return next == state::released;
}

bool lease::set_lost() noexcept {
    std::function<void()> told;
    {
        const std::lock_guard lock(handlers_mutex_);
        state expected = state::held;
        if (!state_.compare_exchange_strong(expected, state::lost, std::memory_order_acq_rel)) {
            return false;
        }
        told.swap(on_lost_);
    }
    if (told) {
        told();
    }
    return true;
}

} // namespace agui::session
