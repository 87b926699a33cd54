#pragma once

#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/message.hpp"
#include "session/conversation/thread.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

/// A user message for a run that is active.
struct steering {
    session::thread_key key;
    std::string run_id; ///< Empty for whatever run is active.
    session::message message;
    std::vector<std::string> notes; ///< Notes for the log about parts that were left out.
};

/// The run that has taken a message, as clients know it.
struct steered_run {
    std::string run_id;
    std::uint64_t sequence = 0; ///< Its event at which the message was taken.
};

/// Gives the message to the active run, and waits until that has stored it for its next request to
/// a model, or ends without. A message that the thread has is not given again: the result is the
/// run that has it. nullopt: not decided by `give_up`; the message still waits, and a repeat waits
/// for the same decision. errc::run_ended: no active run takes it, and nothing was stored.
/// errc::thread_busy: another process has the run, which `failure::gateway` names.
/// errc::queue_full, errc::body_too_large, errc::overloaded: nothing was stored.
/// errc::store_unavailable: it may have been stored.
[[nodiscard]] boost::asio::awaitable<result<std::optional<steered_run>>>
steer(std::shared_ptr<run_core> core, steering what, std::chrono::steady_clock::time_point give_up);

} // namespace agui::gateway
