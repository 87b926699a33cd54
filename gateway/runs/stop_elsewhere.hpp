#pragma once

#include "gateway/run/conversation_key.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace agui::gateway {

/// Result of a stop in other processes.
struct stopped_elsewhere {
    bool any = false;     ///< There was a run or a queued request to stop.
    bool stopped = false; ///< It has ended by a stop.
};

/// Asks all other processes on the store to stop the thread's run and its requests, as
/// run_service::cancel does here: those with that runId, or all received until `asked`. All are
/// asked because a request may be on its way to any of them. Returns once the run has ended and the
/// request has left the queue. Fails if the store does. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<stopped_elsewhere>> stop_elsewhere(
    run_core& core, const conversation_key& conversation, const std::optional<std::string>& run_id,
    std::chrono::steady_clock::time_point asked
);

} // namespace agui::gateway
