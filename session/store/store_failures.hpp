#pragma once

#include "session/base/error.hpp"

#include <cstdint>
#include <string>

namespace agui::session {

// Failures that the stores and their callers word alike.

[[nodiscard]] inline failure no_such_thread() {
    return {errc::not_found, "there is no such thread"};
}

[[nodiscard]] inline failure no_such_pending_call() {
    return {errc::not_found, "no such call of this thread waits for an answer"};
}

[[nodiscard]] inline failure run_id_taken() {
    return {errc::run_id_reused, "runId: has already been used on this thread"};
}

[[nodiscard]] inline failure attachments_too_large(std::uint64_t bytes_max) {
    return {
        errc::body_too_large, "the attachments of this thread would take more than " +
                                  std::to_string(bytes_max) + " bytes"
    };
}

[[nodiscard]] inline failure queue_is_full() {
    return {errc::queue_full, "too many messages are queued for this thread: try again later"};
}

[[nodiscard]] inline failure thread_has_changed() {
    return {errc::conflict, "the thread has changed since it was read"};
}

[[nodiscard]] inline failure shared_id_taken() {
    return {errc::conflict, "another thread has the shared id of this one"};
}

[[nodiscard]] inline failure lease_is_lost() {
    return {errc::lease_lost, "another process may have taken over the thread: try again"};
}

/// The run is known, but its log or a part of it is gone.
[[nodiscard]] inline failure log_is_gone() {
    return {errc::run_expired, "the log of this run is no longer stored"};
}

} // namespace agui::session
