#pragma once

#include "session/conversation/node_list.hpp"
#include "session/conversation/thread.hpp"

#include "session/base/memory_budget.hpp"
#include "session/base/mutex.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>

namespace agui::session {

/// The messages of long threads as they were read, so that the next reading of such a thread
/// fetches only those that came later. Messages never change and a thread only grows, so what is
/// kept is never stale as long as the store's number of the thread is the same. (A store whose
/// server may lose what it has acknowledged compares the last message.) Bounded by the approximate
/// bytes of the messages, which count as memory_use::large; the least recently used go first.
///
/// Calls may come from any thread.
class message_cache {
public:
    /// A null budget refuses nothing; otherwise it must outlive this, and a sixteenth of it is the
    /// limit if that is less.
    explicit message_cache(memory_budget* budget, std::size_t bytes_max = 64U << 20U) noexcept
        : bytes_max_(budget == nullptr ? bytes_max : std::min(bytes_max, budget->limit() / 16)),
          share_(budget, memory_use::large) {}

    struct kept {
        std::int64_t thread = 0;                   ///< The store's number of the thread.
        std::shared_ptr<const node_list> messages; ///< From the first on; null if none are kept.
    };
    [[nodiscard]] kept find(const thread_key& key);
    /// Keeps the messages of a thread that was read as `record`, if they are many, and many more
    /// than are kept.
    void keep(std::int64_t thread, const thread_record& record);
    /// Drops the messages of a thread, which is removed or was not as they say.
    void forget(const thread_key& key) noexcept;

    [[nodiscard]] std::size_t bytes() const;

private:
    struct entry {
        thread_key key;
        kept what;
        std::size_t bytes = 0;
    };
    using entries = std::list<entry>;

    void drop(entries::iterator gone) noexcept AGUI_REQUIRES(mutex_);
    [[nodiscard]] bool make_room(std::size_t bytes) noexcept AGUI_REQUIRES(mutex_);

    const std::size_t bytes_max_;
    mutable agui::mutex mutex_;
    std::size_t bytes_ AGUI_GUARDED_BY(mutex_) = 0;
    memory_share share_ AGUI_GUARDED_BY(mutex_);
    entries entries_ AGUI_GUARDED_BY(mutex_); ///< The one that was used last comes first.
    std::map<thread_key, entries::iterator> by_key_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::session
