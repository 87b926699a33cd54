#pragma once

#include "session/base/memory_budget.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <vector>

namespace agui::gateway {

/// Which ephemeral conversations (forwardedProps.ephemeral) stay in memory for later requests:
/// limited in number and size, the oldest are removed first. Safe to call from any thread.
class ephemeral_threads {
public:
    /// They count against the budget, which may be null, and stay below an eighth of it.
    explicit ephemeral_threads(memory_budget* budget) noexcept : share_(budget) {}
    ephemeral_threads(const ephemeral_threads&) = delete;
    ephemeral_threads& operator=(const ephemeral_threads&) = delete;

    struct entry {
        session::thread_key key;
        std::size_t bytes = 0;
    };

    /// The thread has grown by about `bytes` and is the newest of all. Returns the threads that the
    /// caller must remove.
    [[nodiscard]] std::vector<entry> grown(const session::thread_key& key, std::size_t bytes);
    /// A returned thread that cannot be removed yet: it still counts, as the newest, and is
    /// returned again once another thread has grown.
    void put_back(const entry& kept);

private:
    void add(const session::thread_key& key, std::size_t bytes);
    void count();

    std::mutex mutex_;
    memory_share share_;
    std::size_t bytes_ = 0;
    std::list<entry> in_order_; ///< Oldest first.
    std::map<session::thread_key, std::list<entry>::iterator> places_;
};

} // namespace agui::gateway
