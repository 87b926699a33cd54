#include "gateway/run/ephemeral_threads.hpp"

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

std::vector<ephemeral_threads::entry>
ephemeral_threads::grown(const session::thread_key& key, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::size_t bound = bound_of(share_.budget());
    add(key, bytes);
    std::vector<entry> gone;
    while (in_order_.size() > 1 && (in_order_.size() > most_threads || bytes_ > bound)) {
        entry& oldest = in_order_.front();
        bytes_ -= oldest.bytes;
        places_.erase(oldest.key);
        gone.push_back(std::move(oldest));
        in_order_.pop_front();
    }
    count();
    return gone;
}

void ephemeral_threads::put_back(const entry& kept) {
    const std::lock_guard lock(mutex_);
    add(kept.key, kept.bytes);
    count();
}

void ephemeral_threads::removed(const session::thread_key& key) {
    const std::lock_guard lock(mutex_);
    const auto place = places_.find(key);
    if (place == places_.end()) {
        return;
    }
    bytes_ -= place->second->bytes;
    in_order_.erase(place->second);
    places_.erase(place);
    count();
}

void ephemeral_threads::add(const session::thread_key& key, std::size_t bytes) {
    auto [place, is_new] = places_.try_emplace(key, in_order_.end());
    if (is_new) {
        place->second = in_order_.insert(in_order_.end(), entry{key, 0});
    } else {
        in_order_.splice(in_order_.end(), in_order_, place->second);
    }
    place->second->bytes += bytes;
    bytes_ += bytes;
}

void ephemeral_threads::count() {
    share_.grow_anyway_to(bytes_);
    share_.shrink_to(bytes_);
}

} // namespace agui::gateway
