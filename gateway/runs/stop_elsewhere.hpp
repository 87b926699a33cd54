#pragma once

#include "gateway/run/conversation_key.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace agui::gateway {

/// What a stop has met in other processes.
struct stopped_elsewhere {
    bool any = false;     ///< There was something to stop: a run, or a request in the queue.
    bool stopped = false; ///< It has ended by a stop.
};

/// Asks all other processes on the store to stop the thread's run and its requests, those with that
/// runId or all that they had received when it was `asked` for, as run_service::cancel does here:
/// to any of them a request that is to become a run may be on its way. Returns once the run has
/// ended that one of them has, and the request has left the queue. Fails if the store does. The
/// arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<stopped_elsewhere>> stop_elsewhere(
    run_core& core, const conversation_key& place, const std::optional<std::string>& run_id,
    std::chrono::steady_clock::time_point asked
);

} // namespace agui::gateway
