#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

namespace agui {

/// Priorities of memory uses.
enum class memory_use {
    ordinary,
    small, ///< May use the reserve too, so that other uses never crowd out small ones.
    large, ///< Must leave as many bytes as the reserve has to ordinary uses.
};

class memory_share;

/// A limit on the bytes that requests, logs and replies take together (`server.max_memory_bytes`).
/// It only counts the bytes that its users report; it allocates nothing. Safe to call from any
/// thread; must outlive its shares.
class memory_budget {
public:
    /// The last `reserve` of the `limit` bytes are for memory_use::small.
    explicit memory_budget(std::size_t limit, std::size_t reserve = 0) noexcept
        : limit_(limit),
          ordinary_limit_(limit - (reserve < limit ? reserve : limit)),
          large_limit_(ordinary_limit_ - (reserve < ordinary_limit_ ? reserve : ordinary_limit_)) {}
    /// A budget for one piece of work whose memory was reserved before. It gives the bytes that
    /// `reserved` holds beyond `used`, and then as many as `reserved` can grow by. Such a budget is
    /// used by one thread at a time. `reserved` must outlive it.
    memory_budget(memory_share& reserved, std::size_t used) noexcept;
    memory_budget(const memory_budget&) = delete;
    memory_budget& operator=(const memory_budget&) = delete;

    /// Returns false, and takes nothing, if there is not enough room.
    [[nodiscard]] bool take(std::size_t bytes, memory_use use) noexcept;
    /// Takes memory that can no longer be refused: the sum may exceed the limit.
    void take_anyway(std::size_t bytes) noexcept;
    /// Returns bytes that were taken.
    void give_back(std::size_t bytes) noexcept {
        used_.fetch_sub(bytes, std::memory_order_relaxed);
    }

    [[nodiscard]] std::size_t used() const noexcept {
        return used_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
    [[nodiscard]] std::size_t limit(memory_use use) const noexcept {
        switch (use) {
        case memory_use::small:
            return limit_;
        case memory_use::large:
            return large_limit_;
        case memory_use::ordinary:
            break;
        }
        return ordinary_limit_;
    }

private:
    const std::size_t limit_;
    const std::size_t ordinary_limit_;
    std::atomic<std::size_t> used_{0};
    const std::size_t large_limit_;
    memory_share* const reserved_ = nullptr; ///< Null if the budget has memory of its own.
};

/// The bytes that one user has taken from a budget; the destructor returns them. Without a budget
/// (null) it still counts, but refuses nothing. Used by one thread at a time.
class memory_share {
public:
    memory_share() = default;
    /// Takes and returns multiples of `step` bytes, so that the shared counter changes rarely.
    explicit memory_share(
        memory_budget* budget, memory_use use = memory_use::ordinary, std::size_t step = 1
    ) noexcept
        : budget_(budget), use_(use), step_(step) {}
    ~memory_share() { shrink_to(0); }
    memory_share(memory_share&& other) noexcept
        : budget_(other.budget_),
          use_(other.use_),
          step_(other.step_),
          held_(std::exchange(other.held_, 0)) {}
    memory_share& operator=(memory_share&& other) noexcept;

    /// Makes the share at least `bytes`; never shrinks it. Returns false, and changes nothing, if
    /// the budget has too little room.
    [[nodiscard]] bool grow_to(std::size_t bytes) noexcept;
    /// The same for memory that can no longer be refused: always succeeds.
    void grow_anyway_to(std::size_t bytes) noexcept;
    /// Returns all bytes above `bytes`, rounded up to whole steps.
    void shrink_to(std::size_t bytes) noexcept;
    /// Changes the use for later calls; bytes already held stay held.
    void set_use(memory_use use) noexcept { use_ = use; }

    [[nodiscard]] std::size_t held() const noexcept { return held_; }
    [[nodiscard]] memory_budget* budget() const noexcept { return budget_; }

private:
    [[nodiscard]] std::size_t rounded(std::size_t bytes) const noexcept {
        return (bytes + step_ - 1) / step_ * step_;
    }

    memory_budget* budget_ = nullptr;
    memory_use use_ = memory_use::ordinary;
    std::size_t step_ = 1;
    std::size_t held_ = 0;
};

/// Thrown if a budget has no room for an allocation. The caller answers errc::overloaded.
class memory_refused : public std::bad_alloc {
public:
    [[nodiscard]] const char* what() const noexcept override {
        return "server.max_memory_bytes is reached";
    }
};

} // namespace agui
