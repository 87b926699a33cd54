#include "session/base/memory_budget.hpp"

#include <algorithm>
#include <limits>

namespace agui {

memory_budget::memory_budget(memory_share& reserved, std::size_t used) noexcept
    : limit_(std::numeric_limits<std::size_t>::max()),
      ordinary_limit_(limit_),
      used_(used),
      large_limit_(limit_),
      reserved_(&reserved) {}

bool memory_budget::take(std::size_t bytes, memory_use use) noexcept {
    if (reserved_ != nullptr) {
        const bool taken = reserved_->grow_to(used() + bytes);
        used_.fetch_add(taken ? bytes : 0, std::memory_order_relaxed);
        return taken;
    }
    const std::size_t most = limit(use);
    std::size_t used = used_.load(std::memory_order_relaxed);
    do {
        if (used > most || bytes > most - used) {
            return false;
        }
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
}

void memory_budget::take_anyway(std::size_t bytes) noexcept {
    used_.fetch_add(bytes, std::memory_order_relaxed);
    if (reserved_ != nullptr) {
        reserved_->grow_anyway_to(used());
    }
}

memory_share& memory_share::operator=(memory_share&& other) noexcept {
    if (this != &other) {
        shrink_to(0);
        budget_ = other.budget_;
        use_ = other.use_;
        step_ = other.step_;
        held_ = std::exchange(other.held_, 0);
    }
    return *this;
}

bool memory_share::grow_to(std::size_t bytes) noexcept {
    if (bytes <= held_) {
        return true;
    }
    const std::size_t wanted = rounded(bytes);
    if (budget_ != nullptr && !budget_->take(wanted - held_, use_)) {
        return false;
    }
    held_ = wanted;
    return true;
}

void memory_share::grow_anyway_to(std::size_t bytes) noexcept {
    if (bytes <= held_) {
        return;
    }
    const std::size_t wanted = rounded(bytes);
    if (budget_ != nullptr) {
        budget_->take_anyway(wanted - held_);
    }
    held_ = wanted;
}

void memory_share::shrink_to(std::size_t bytes) noexcept {
    const std::size_t wanted = std::min(rounded(bytes), held_);
    if (budget_ != nullptr) {
        budget_->give_back(held_ - wanted);
    }
    held_ = wanted;
}

} // namespace agui
