#pragma once

#include "session/base/clock.hpp"
#include "session/conversation/message.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace agui::session {

/// A request whose user messages wait in the store until a run of its thread takes them. The rest
/// of the request (tools, context, state, headers) is not kept.
struct queued_request {
    std::int64_t number = 0; ///< Assigned by the store; rises with each request of a thread.
    std::string run_id;
    std::string parent_run_id;
    std::string agent_id;
    std::string input_digest;      ///< As in run_record.
    std::string idempotency_key;   ///< As in run_record.
    std::string protocol;          ///< As in run_record.
    unix_ms queued_at = 0;         ///< By the clock of the process that queued it.
    unix_ms waits_since = 0;       ///< The same moment in shared time (store::shared_time()).
    std::vector<message> messages; ///< In order, with ids.
    /// The process that is responsible for it (store::gateway_number()), set by the store; 0 if
    /// none is.
    std::int64_t gateway = 0;
};

/// Limits of a thread's queue.
struct queue_limits {
    std::size_t requests = 0;
    std::uint64_t bytes = 0; ///< Approximate bytes of the messages as stored JSON (stored_size).
};

/// The bytes that a request adds to its queue.
[[nodiscard]] std::uint64_t bytes_of(const queued_request& request);

} // namespace agui::session
