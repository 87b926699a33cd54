#pragma once

#include "session/conversation/attachment.hpp"
#include "session/conversation/thread.hpp"
#include "session/conversation/thread_access.hpp"

#include <cstddef>
#include <vector>

namespace agui::session {

/// A thread with what a store keeps of it, except its queue, logs and failed attempts.
struct whole_thread {
    thread_key key;
    /// All of its content as one change of a thread that does not exist yet (check_change);
    /// changes::at is the time of its last change. Without run, dequeued and answered.
    changes content;
    unix_ms created_at = 0;
    unix_ms last_run_at = 0;
    std::vector<run_record> runs; ///< In the order in which they began. All have ended.
    thread_access access;
    std::vector<attachment> attachments;
};

/// True if two of the runs have the same id or the same idempotency key.
[[nodiscard]] bool has_twins(const std::vector<run_record>& runs);

/// What store::forget_principal() has removed.
struct forgotten_principal {
    std::size_t rights = 0; ///< Entries in lists of other principals' threads.
    std::size_t attachments = 0;

    friend bool operator==(const forgotten_principal&, const forgotten_principal&) = default;
};

} // namespace agui::session
