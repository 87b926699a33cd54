#pragma once

#include "gateway/admission/accepted_run.hpp"
#include "session/base/error.hpp"
#include "session/conversation/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <vector>

namespace agui::gateway {

/// Lets a request wait for its thread's next run (`session.on_busy = "enqueue"`): stores its
/// `messages` in the queue, unless the request continues to wait there (admitted::queued), and
/// writes RUN_STARTED into `log`. Returns then. Afterwards, whatever happens, `log` gets its end:
///
/// - The first request that waits begins the run that takes the messages of all, once the thread is
///   free and no hand-off holds the queue, and has its events. The others get MESSAGES_SNAPSHOT and
///   RUN_FINISHED when that run has ended, or its failure (answered_run.hpp).
/// - A stop, or its client's leaving for longer than the disconnect policy allows, withdraws the
///   message, unless a run has taken it. Then a stop only ends its stream.
/// - A drain ends its stream; the message stays in the queue. So it does if the run could not begin
///   for a reason that may pass (may_succeed_later()).
///
/// On failure `request` is what it was, and nothing is stored, except perhaps after
/// errc::store_unavailable. errc::not_found: the thread does not exist, such as while its first run
/// begins.
[[nodiscard]] boost::asio::awaitable<result<void>> wait_in_queue(
    std::unique_ptr<accepted_run::admitted>& request, std::shared_ptr<event_log> log,
    std::vector<session::message> messages
);

} // namespace agui::gateway
