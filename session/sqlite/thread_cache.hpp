#pragma once

#include "session/conversation/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace agui::session {

/// Threads as read, with the later changes of transactions, so that the next request of a
/// conversation need not read all of its messages again. The version in the tables validates each
/// hit, so nothing depends on the cache. Bounded by the approximate bytes of the threads; the least
/// recently used go first.
///
/// Runs on the store's thread.
class thread_cache {
public:
    explicit thread_cache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// The thread with that number if it is known with that version. Data that versions do not
    /// cover (title, times, ...) may be stale.
    [[nodiscard]] std::optional<thread_record> find(std::int64_t thread, std::uint64_t version);
    /// Keeps a thread as it was read.
    void keep(std::int64_t thread, const thread_record& record);
    /// Drops a thread that is removed.
    void forget(std::int64_t thread) noexcept;

    /// Notes that the current transaction changes a thread that had that version. `change` must
    /// live until committed() or rolled_back().
    void stage(std::int64_t thread, std::uint64_t version, const changes& change);
    void committed() noexcept;
    void rolled_back() noexcept { staged_.clear(); }

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

private:
    struct entry {
        std::int64_t thread = 0;
        thread_record record;
        std::size_t bytes = 0;
    };
    struct staged_change {
        std::int64_t thread;
        std::uint64_t version;
        const changes* change;
    };
    using entries = std::list<entry>;

    void weigh(entry& of) noexcept;
    void drop(entries::iterator gone) noexcept;
    void make_room() noexcept;

    const std::size_t bytes_max_;
    std::size_t bytes_ = 0;
    entries entries_; ///< The one that was used last comes first.
    std::unordered_map<std::int64_t, entries::iterator> by_thread_;
    std::vector<staged_change> staged_;
};

} // namespace agui::session
