#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "gateway/log/event_log.hpp"
#include "session/base/error.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::gateway {

// How a request gets its thread, which may be busy. On failure (errc::thread_busy among others) it
// has not got it. errc::run_id_reused: the thread has a run of that id, which another process has
// begun since the request was admitted. The arguments must outlive the await.

/// Acquires the thread in the store. A request with a new user message may wait for a busy thread,
/// for run_settings::busy_wait: its sender may have just left the active run, and the server may
/// not have noticed yet. The settings say which runs give way to it. A stop ends the wait.
[[nodiscard]] boost::asio::awaitable<result<void>> take_thread(accepted_run::admitted& request);

/// With run_settings::queue, for a request with `messages` that may wait. True: it waits in the
/// queue, and `request` has been moved there (queued_run.hpp). False: it need not wait, and it has
/// acquired the thread.
[[nodiscard]] boost::asio::awaitable<result<bool>> take_thread_or_queue(
    std::unique_ptr<accepted_run::admitted>& request, const std::shared_ptr<event_log>& log,
    const std::vector<session::message>& messages
);

} // namespace agui::gateway
