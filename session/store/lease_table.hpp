#pragma once

#include "session/base/error.hpp"
#include "session/base/mutex.hpp"
#include "session/conversation/thread.hpp"
#include "session/store/lease.hpp"
#include "session/store/store.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace agui::session {

/// The runs that hold threads (P7) in a store that only this process uses: its leases have no term.
/// Safe to call from any thread: every call takes a lock for a short time.
class lease_table {
public:
    /// Lets the run hold the thread. errc::thread_busy, with the holder, if the thread is held,
    /// even by the same run.
    [[nodiscard]] result<lease_ptr> acquire(const thread_key& key, const std::string& run_id);

    /// Frees the thread, if the lease still holds it. Does nothing if `held` is null.
    void release(const lease_ptr& held) noexcept;

    /// Records that the lease's run has begun. Does nothing if `held` is null.
    void set_begun(const lease_ptr& held, std::int64_t run_number, node_index first_own_message);

    [[nodiscard]] std::optional<thread_holder> holder(const thread_key& key) const;
    /// The run that holds the thread; empty if the thread is free or the server itself holds it.
    [[nodiscard]] std::string run_of(const thread_key& key) const;
    [[nodiscard]] bool is_free(const thread_key& key) const;

private:
    struct entry {
        lease_ptr held;
        std::int64_t run_number = 0;
        node_index first_own_message = no_node;
    };
    mutable mutex mutex_;
    /// The keys are owned by the leases.
    std::map<std::reference_wrapper<const thread_key>, entry, std::less<thread_key>>
        holders_ AGUI_GUARDED_BY(mutex_);
    std::uint64_t last_token_ AGUI_GUARDED_BY(mutex_) = 0;
};

/// Releases the thread when the scope is left in any way, if `by` says so. Both arguments must
/// outlive it.
class lease_return {
public:
    lease_return(lease_table& table, const held_by& by) noexcept : table_(table), by_(by) {}
    ~lease_return() {
        if (by_.releases) {
            table_.release(by_.held);
        }
    }
    lease_return(const lease_return&) = delete;
    lease_return& operator=(const lease_return&) = delete;

private:
    lease_table& table_;
    const held_by& by_;
};

} // namespace agui::session
