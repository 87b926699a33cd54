#pragma once

#include <atomic>
#include <cstddef>

namespace agui::gateway {

/// One request's part in the bytes of bodies that all connections hold together; given back with
/// the object. Used on one thread; `total` is shared by all.
class body_share {
public:
    explicit body_share(std::atomic<std::size_t>& total) noexcept : total_(total) {}
    ~body_share() { total_.fetch_sub(held_, std::memory_order_relaxed); }
    body_share(const body_share&) = delete;
    body_share& operator=(const body_share&) = delete;

    /// False: all connections together would hold more than `limit`. Precondition: not below
    /// held().
    [[nodiscard]] bool grow_to(std::size_t bytes, std::size_t limit) noexcept {
        const std::size_t more = bytes - held_;
        held_ = bytes;
        return total_.fetch_add(more, std::memory_order_relaxed) + more <= limit;
    }
    [[nodiscard]] std::size_t held() const noexcept { return held_; }

private:
    std::atomic<std::size_t>& total_;
    std::size_t held_ = 0;
};

} // namespace agui::gateway
