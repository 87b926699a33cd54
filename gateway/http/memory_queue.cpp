#include "gateway/http/memory_queue.hpp"

#include <utility>

namespace agui::gateway {

memory_queue::place::place(memory_queue& owner, std::size_t bytes, std::function<void()> on_turn)
    : owner_(owner),
      bytes_(bytes),
      on_turn_(std::move(on_turn)),
      share_(&owner.budget_, memory_use::large) {
    const std::lock_guard lock(owner_.mutex_);
    owner_.serve_first();
    if (owner_.waiting_.empty() && share_.grow_to(bytes_)) {
        return;
    }
    at_ = owner_.waiting_.insert(owner_.waiting_.end(), this);
    waits_ = true;
}

memory_queue::place::~place() {
    const std::lock_guard lock(owner_.mutex_);
    if (waits_) {
        owner_.waiting_.erase(at_);
        owner_.serve_first(); // The next bodies may need less.
    }
}

bool memory_queue::place::has_turn() const {
    const std::lock_guard lock(owner_.mutex_);
    return !waits_;
}

void memory_queue::serve() {
    const std::lock_guard lock(mutex_);
    serve_first();
}

void memory_queue::serve_first() {
    while (!waiting_.empty()) {
        place& first = *waiting_.front();
        if (!first.share_.grow_to(first.bytes_)) {
            return;
        }
        first.waits_ = false;
        waiting_.pop_front();
        first.on_turn_();
    }
}

} // namespace agui::gateway
