#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/log/event_log.hpp"
#include "session/base/error.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::gateway {

// Acquire the thread for a request, which may have to wait if the thread is busy. On failure
// (errc::thread_busy among others) the thread is not acquired. errc::run_id_reused: another process
// has begun a run with that id since the request was admitted. The arguments must outlive the
// await.

/// Acquires the thread in the store. A request with a new user message may wait for
/// run_settings::busy_wait if the thread is busy, because its sender may have left the active run
/// without the server having noticed. The settings say which runs it supersedes. A stop ends the
/// wait.
[[nodiscard]] boost::asio::awaitable<result<void>> take_thread(accepted_run::admitted& request);

/// With run_settings::queue, for a request with `messages` that may wait. Returns true if it waits
/// in the queue, and `request` has been moved there (queue_entry.hpp). Returns false if it has
/// acquired the thread without waiting.
[[nodiscard]] boost::asio::awaitable<result<bool>> take_thread_or_queue(
    std::unique_ptr<accepted_run::admitted>& request, const std::shared_ptr<event_log>& log,
    const std::vector<session::message>& messages
);

} // namespace agui::gateway
