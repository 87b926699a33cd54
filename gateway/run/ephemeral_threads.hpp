#pragma once

#include "session/base/memory_budget.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/thread.hpp"

#include <cstddef>
#include <list>
#include <map>
#include <vector>

namespace agui::gateway {

/// Decides which ephemeral conversations (forwardedProps.ephemeral) stay in memory for later
/// requests: at most 1000, which take at most 256 MB; the oldest are removed first, but never the
/// newest. Safe to call from any thread.
class ephemeral_threads {
public:
    /// They count against the budget (may be null) and take at most an eighth of it.
    explicit ephemeral_threads(memory_budget* budget) noexcept : share_(budget) {}
    ephemeral_threads(const ephemeral_threads&) = delete;
    ephemeral_threads& operator=(const ephemeral_threads&) = delete;

    struct entry {
        session::thread_key key;
        std::size_t bytes = 0;
    };

    /// To be called when the thread has grown by about `bytes`: it is then the newest. Returns the
    /// threads that the caller must remove.
    [[nodiscard]] std::vector<entry> grown(const session::thread_key& key, std::size_t bytes);
    /// To be called for a returned thread that cannot be removed yet: it counts again, as the
    /// newest, and may be returned again once another thread has grown.
    void put_back(const entry& kept);
    /// To be called when a thread has been removed that grown() has not returned.
    void removed(const session::thread_key& key);

private:
    void add(const session::thread_key& key, std::size_t bytes) AGUI_REQUIRES(mutex_);
    void count() AGUI_REQUIRES(mutex_);

    mutex mutex_;
    memory_share share_ AGUI_GUARDED_BY(mutex_);
    std::size_t bytes_ AGUI_GUARDED_BY(mutex_) = 0;
    std::list<entry> in_order_ AGUI_GUARDED_BY(mutex_); ///< Oldest first.
    std::map<session::thread_key, std::list<entry>::iterator> places_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
