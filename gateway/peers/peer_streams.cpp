#include "gateway/peers/peer_streams.hpp"

namespace agui::gateway {

peer_streams::member::member(peer_streams& of, name own, std::function<void()> on_left)
    : of_(of), own_(std::move(own)), on_left_(std::move(on_left)) {
    const std::lock_guard lock(of_.mutex_);
    of_.members_[own_] = this;
}

peer_streams::member::~member() {
    const std::lock_guard lock(of_.mutex_);
    const auto found = of_.members_.find(own_);
    if (found != of_.members_.end() && found->second == this) {
        of_.members_.erase(found);
    }
}

bool peer_streams::leave(const name& which) {
    const std::lock_guard lock(mutex_);
    const auto found = members_.find(which);
    if (found == members_.end()) {
        return false;
    }
    found->second->on_left_();
    return true;
}

} // namespace agui::gateway
