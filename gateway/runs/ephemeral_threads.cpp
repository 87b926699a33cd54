#include "gateway/runs/ephemeral_threads.hpp"

#include <algorithm>
#include <utility>

namespace agui::gateway {

namespace {

constexpr std::size_t most_threads = 1'000;
constexpr std::size_t most_bytes = 256U << 20U;

std::size_t bound_of(const memory_budget* budget) {
    return budget == nullptr ? most_bytes : std::min(most_bytes, budget->limit() / 8);
}

} // namespace

std::vector<session::thread_key>
ephemeral_threads::grown(const session::thread_key& key, std::size_t bytes) {
    const std::size_t bound = bound_of(share_.budget());
    const std::lock_guard lock(mutex_);
    auto [place, is_new] = places_.try_emplace(key, in_order_.end());
    if (is_new) {
        place->second = in_order_.insert(in_order_.end(), entry{key, 0});
    } else {
        in_order_.splice(in_order_.end(), in_order_, place->second);
    }
    place->second->bytes += bytes;
    bytes_ += bytes;
    std::vector<session::thread_key> gone;
    while (in_order_.size() > 1 && (in_order_.size() > most_threads || bytes_ > bound)) {
        entry& oldest = in_order_.front();
        bytes_ -= oldest.bytes;
        places_.erase(oldest.key);
        gone.push_back(std::move(oldest.key));
        in_order_.pop_front();
    }
    share_.grow_anyway_to(bytes_);
    share_.shrink_to(bytes_);
    return gone;
}

} // namespace agui::gateway
