#pragma once

#include "session/base/memory_budget.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <functional>
#include <list>
#include <utility>

namespace agui::gateway {

/// Gives memory to large bodies in the order in which they ask for it: no body is served before the
/// first in the queue, even if it needs less. Safe to call from any thread; must outlive its
/// places.
class memory_queue {
public:
    explicit memory_queue(memory_budget& budget) noexcept : budget_(budget) {}
    memory_queue(const memory_queue&) = delete;
    memory_queue& operator=(const memory_queue&) = delete;

    /// The place of one body, until the destructor frees it. Used by one thread at a time.
    class place {
    public:
        /// Asks for `bytes`, which must be below the budget's limit for large uses. If they are not
        /// available at once, `on_turn` is called when they are. It may be called by any thread and
        /// under a lock, so it must only post.
        place(memory_queue& owner, std::size_t bytes, std::function<void()> on_turn);
        ~place();
        place(const place&) = delete;
        place& operator=(const place&) = delete;

        /// Returns true once the memory has been taken.
        [[nodiscard]] bool has_turn() const;
        /// The memory, once it has been taken.
        [[nodiscard]] memory_share take() noexcept { return std::move(share_); }

    private:
        friend memory_queue;

        memory_queue& owner_;
        const std::size_t bytes_;
        const std::function<void()> on_turn_;
        bool waits_ = false; ///< Guarded by the owner's mutex, as is share_ while it is true.
        memory_share share_;
        std::list<place*>::iterator at_; ///< Valid while it waits.
    };

    /// Serves waiting bodies with memory freed since the last call. To be called a few times a
    /// second, because a budget does not announce free memory.
    void serve();

private:
    void serve_first() AGUI_REQUIRES(mutex_);

    memory_budget& budget_;
    mutex mutex_;
    std::list<place*> waiting_ AGUI_GUARDED_BY(mutex_); ///< First come, first served.
};

} // namespace agui::gateway
