#pragma once

#include "session/base/mutex.hpp"
#include "session/conversation/thread.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace agui::session {

/// The time since the machine was started, sleep included: a process that was stopped, on a machine
/// that was suspended, sees on waking how late it is (CLOCK_BOOTTIME). No change of the date moves
/// it.
[[nodiscard]] std::chrono::nanoseconds time_since_boot() noexcept;

/// The time until which a process may rely on its leases. Shared by all leases of a store that
/// other processes also use; the store moves the end whenever it has renewed them. Safe to use from
/// any thread.
class lease_term {
public:
    [[nodiscard]] bool is_over() const noexcept {
        return time_since_boot().count() >= end_.load(std::memory_order_acquire);
    }
    /// `end` is on the scale of time_since_boot().
    void set_end(std::chrono::nanoseconds end) noexcept {
        end_.store(end.count(), std::memory_order_release);
    }

private:
    std::atomic<std::int64_t> end_{0};
};

/// A run's hold on its thread (P7), made by store::acquire(). Only the newest lease of a thread is
/// valid: a store refuses writes with an older one (errc::lease_lost). Shared by its run and its
/// store. All functions may be called from any thread.
class lease {
public:
    /// Without a term it ends only by release or loss.
    lease(
        thread_key key, std::string run_id, std::uint64_t token,
        std::shared_ptr<const lease_term> term = nullptr, bool found_orphans = false
    )
        : key_(std::move(key)),
          run_id_(std::move(run_id)),
          token_(token),
          term_(std::move(term)),
          found_orphans_(found_orphans) {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    [[nodiscard]] const thread_key& key() const noexcept { return key_; }
    /// Empty if the server itself holds the thread.
    [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
    /// Rises with each lease of the thread.
    [[nodiscard]] std::uint64_t token() const noexcept { return token_; }

    /// True if the store saw orphans of the thread when it gave the lease.
    [[nodiscard]] bool found_orphans() const noexcept { return found_orphans_; }

    /// True until it is released or lost.
    [[nodiscard]] bool is_held() const noexcept {
        return state_.load(std::memory_order_acquire) == state::held && !is_over();
    }
    /// True if another process may hold the thread by now: the run must not write, show or start
    /// anything more. False for a lease that was released before it could be lost. Cheap: call it
    /// after every wait.
    [[nodiscard]] bool is_lost() const noexcept {
        const state now = state_.load(std::memory_order_acquire);
        return now == state::lost || (now == state::held && is_over());
    }

    /// Calls `handler` once, on any thread, when the store finds the lease lost, or at once if it
    /// already has. Code that must not act on a lost lease also checks is_lost(), because a process
    /// may wake up long after its leases have expired.
    void on_lost(std::function<void()> handler);

    // Functions for stores.

    /// Returns false if the lease was already released or lost. Also false if its term is over: the
    /// lease is then lost for good, and the handler of on_lost() is not called.
    bool set_released() noexcept;
    /// Returns false if the lease was already released or lost.
    bool set_lost() noexcept;

private:
    enum class state : std::uint8_t { held, released, lost };

    [[nodiscard]] bool is_over() const noexcept { return term_ && term_->is_over(); }

    const thread_key key_;
    const std::string run_id_;
    const std::uint64_t token_;
    const std::shared_ptr<const lease_term> term_;
    const bool found_orphans_;
    std::atomic<state> state_{state::held};
    /// Shared by all leases, each of which locks it once or twice: a mutex in each would make every
    /// active run larger.
    inline static mutex handlers_mutex_;
    std::function<void()> on_lost_ AGUI_GUARDED_BY(handlers_mutex_);
};

using lease_ptr = std::shared_ptr<lease>;

} // namespace agui::session
