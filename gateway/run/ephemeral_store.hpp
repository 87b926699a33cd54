#pragma once

#include "gateway/run/ephemeral_threads.hpp"
#include "session/base/memory_budget.hpp"
#include "session/store/store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>

namespace agui::gateway {

/// The store of ephemeral threads: in memory, within the limits of ephemeral_threads. Owned by
/// shared_ptr: removals in progress keep it alive. Safe to call from any thread.
class ephemeral_store : public std::enable_shared_from_this<ephemeral_store> {
public:
    /// `budget` may be null.
    explicit ephemeral_store(memory_budget* budget);
    ~ephemeral_store();
    ephemeral_store(const ephemeral_store&) = delete;
    ephemeral_store& operator=(const ephemeral_store&) = delete;

    [[nodiscard]] session::store& store() noexcept { return *store_; }

    /// To be called when the thread has grown by about `bytes`. Threads beyond the limits are
    /// removed on `executor`: the oldest first, but none that a run holds.
    void grown(
        const session::thread_key& key, std::size_t bytes,
        const boost::asio::any_io_executor& executor
    );

    /// Removes on `executor` a thread that has never been in grown(). If a run holds it, it counts
    /// from then on as in grown().
    void remove(const session::thread_key& key, const boost::asio::any_io_executor& executor);
    /// Removes any thread. Returns false if a run holds it.
    [[nodiscard]] boost::asio::awaitable<bool> remove_now(session::thread_key key);

private:
    void
    begin_removal(ephemeral_threads::entry thread, const boost::asio::any_io_executor& executor);
    [[nodiscard]] boost::asio::awaitable<void> remove(ephemeral_threads::entry thread);

    const std::unique_ptr<session::store> store_;
    ephemeral_threads threads_;
};

} // namespace agui::gateway
