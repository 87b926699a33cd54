#pragma once

#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace agui::session {

/// Which run holds which thread in this process (P7). Safe to call from any thread: every call
/// takes a lock for a short time.
class lease_table {
public:
    /// Lets the run hold the thread. errc::thread_busy, with the holder, if the thread is held,
    /// even by the same run.
    [[nodiscard]] result<void> acquire(const thread_key& key, const std::string& run_id);

    /// Frees the thread if `run_id` holds it. The empty id stands for the server itself.
    void release(const thread_key& key, std::string_view run_id) noexcept;
    /// The same as part of a commit, where the empty id means that nothing is freed.
    void release_with_commit(const thread_key& key, std::string_view run_id) noexcept;

    /// The run that holds the thread. Empty: nobody does, or the server itself.
    [[nodiscard]] std::string holder(const thread_key& key) const;
    /// The holder of every held thread.
    [[nodiscard]] std::map<thread_key, std::string> all() const;

private:
    mutable std::mutex mutex_;
    std::map<thread_key, std::string> runs_;
};

/// Releases the thread when the scope is left in any way. What it refers to must outlive it; an
/// empty run id releases nothing.
class lease_return {
public:
    lease_return(lease_table& table, const thread_key& key, const std::string& run_id) noexcept
        : table_(table), key_(key), run_id_(run_id) {}
    ~lease_return() { table_.release_with_commit(key_, run_id_); }
    lease_return(const lease_return&) = delete;
    lease_return& operator=(const lease_return&) = delete;

private:
    lease_table& table_;
    const thread_key& key_;
    const std::string& run_id_;
};

} // namespace agui::session
