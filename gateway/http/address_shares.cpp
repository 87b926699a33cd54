#include "gateway/http/address_shares.hpp"

namespace agui::gateway {

namespace {

// Shares grow in steps of this size, so that the lock is taken once per step, not once per read.
constexpr std::size_t step_bytes = 256U << 10U;

} // namespace

bool address_shares::share::grow_to(std::size_t bytes) {
    if (client_.empty() || bytes <= held_) {
        return true;
    }
    const std::size_t wanted = (bytes + step_bytes - 1) / step_bytes * step_bytes;
    const std::lock_guard lock(owner_.mutex_);
    std::size_t& all = owner_.held_[client_];
    if (all + wanted - held_ > owner_.most_) {
        if (all == 0) {
            owner_.held_.erase(client_);
        }
        return false;
    }
    all += wanted - held_;
    held_ = wanted;
    return true;
}

void address_shares::share::release() noexcept {
    if (held_ == 0) {
        return;
    }
    const std::lock_guard lock(owner_.mutex_);
    const auto found = owner_.held_.find(client_);
    if (found->second == held_) {
        owner_.held_.erase(found);
    } else {
        found->second -= held_;
    }
    held_ = 0;
}

} // namespace agui::gateway
