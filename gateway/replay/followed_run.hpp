#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/conversation_key.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>

namespace agui::gateway {

// Reads runs of another process on the same store. That process sends the entries of their logs
// (peer_door), and counts all readers here as one. While it cannot be reached, the store is read.

/// The log of a run of the process `gateway` (session::thread_holder; 0 means that it is looked
/// up). While the log is held, it grows until the run has ended; readers of one run share it. If
/// the run is lost, it is recovered, and the log ends with the recovery's result. A run without a
/// number is a request that waits in the queue there (find_queued()). Errors: as store::read_log();
/// errc::overloaded. The references must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::shared_ptr<event_log>>> followed_log(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    std::int64_t gateway
);

/// The same with an existing log that holds the first events of the run.
[[nodiscard]] boost::asio::awaitable<result<void>> follow_run(
    run_core& core, const conversation_key& conversation, const session::run_record& run,
    std::int64_t gateway, const std::shared_ptr<event_log>& log
);

} // namespace agui::gateway
