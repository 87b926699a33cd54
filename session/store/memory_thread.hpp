#pragma once

#include "session/base/mutex.hpp"
#include "session/conversation/pending_call.hpp"
#include "session/conversation/queued_request.hpp"
#include "session/conversation/thread.hpp"
#include "session/conversation/thread_access.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::session {

/// A thread of the memory store with its runs and its session events. Each has its own lock, so
/// that copying a long thread does not block calls on other threads.
struct memory_thread {
    agui::mutex mutex;
    bool removed AGUI_GUARDED_BY(mutex) = false;
    std::int64_t number AGUI_GUARDED_BY(mutex) = 0;
    thread_record thread AGUI_GUARDED_BY(mutex);
    std::vector<run_record> runs AGUI_GUARDED_BY(mutex);
    std::vector<session_event> events AGUI_GUARDED_BY(mutex);
    std::vector<queued_request> queue AGUI_GUARDED_BY(mutex);
    std::map<std::string, call_claim> claims AGUI_GUARDED_BY(mutex); ///< By the call's id.
    thread_access access AGUI_GUARDED_BY(mutex);

    /// True if a run of the thread has the id or the idempotency key of one of `given`.
    [[nodiscard]] bool has_any(const std::vector<run_record>& given) const AGUI_REQUIRES(mutex);
    /// True if a run or a queued request has the id, or the key if it is not empty.
    [[nodiscard]] bool has_any_request(std::string_view run_id, std::string_view key) const
        AGUI_REQUIRES(mutex);
    [[nodiscard]] bool are_queued(const std::vector<std::int64_t>& numbers) const
        AGUI_REQUIRES(mutex);
    /// The right of a principal to whom the thread is opened.
    [[nodiscard]] std::optional<access_right> right_of(std::string_view principal) const
        AGUI_REQUIRES(mutex);

    /// Stores all of `change`. Its answered runs get the next numbers of `run_count`. Throws
    /// std::logic_error, and stores nothing, if its run has not begun on the thread.
    void store(const changes& change, std::atomic<std::int64_t>& run_count) AGUI_REQUIRES(mutex);
};

/// Adds the claims to pending calls.
[[nodiscard]] std::vector<pending_call>
with_claims(std::vector<pending_call> calls, const std::map<std::string, call_claim>& claims);

} // namespace agui::session
