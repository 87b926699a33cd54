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
/// writes RUN_STARTED into `log`. Then it returns. Afterwards `log` always gets its end:
///
/// - Once the thread is free and no hand-off holds the queue, the first waiting request begins a
///   run that takes all waiting messages, and gets its events. The others get MESSAGES_SNAPSHOT and
///   RUN_FINISHED when that run has ended, or its failure (answered_run.hpp).
/// - With `session.on_busy = "steer"`, the active run takes the messages if it can (queue_offer).
///   The request then gets CUSTOM `agui-gateway.message.taken` and RUN_FINISHED at once.
/// - A stop, or a client's absence for longer than the disconnect policy allows, withdraws the
///   message. If a run has already taken it, a stop only ends the request's stream.
/// - A drain ends the stream, and the message stays in the queue. The message also stays if the run
///   failed to begin for a temporary reason (may_succeed_later()).
///
/// On failure `request` is unchanged, and nothing is stored, except perhaps after
/// errc::store_unavailable. errc::not_found: the thread does not exist, for example while its first
/// run begins.
[[nodiscard]] boost::asio::awaitable<result<void>> wait_in_queue(
    std::unique_ptr<accepted_run::admitted>& request, std::shared_ptr<event_log> log,
    std::vector<session::message> messages
);

} // namespace agui::gateway
