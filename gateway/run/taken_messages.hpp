#pragma once

#include "gateway/run/run_mailbox.hpp"
#include "runner/loop/agent_loop.hpp"
#include "session/base/clock.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "session/store/store.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

// The messages that runs took while they were active, as they are stored: each has a session event
// `user.message` with the number of the run's event at which it was taken.

/// Value of run_record::end_reason for a queued request whose messages an active run has taken
/// (run_record::answered_by).
inline constexpr std::string_view taken_while_active = "steered";

/// What `run` stores when it takes the letters: their messages, session events, and what removes
/// those from the thread's queue.
[[nodiscard]] runner::user_messages to_store(
    const std::vector<run_mailbox::letter_ptr>& letters, const session::run_record& run, unix_ms now
);

struct taken_message {
    std::string message_id;
    std::string run_id; ///< The run that took it.
    std::uint64_t sequence = 0;
    std::string request_run_id; ///< The request from the queue that brought it; often empty.
};

/// Returns the thread's taken messages for which `is_meant` returns true, in order. Reads all
/// session events of the thread. The arguments must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<std::vector<taken_message>>> find_taken(
    session::store& store, const session::thread_key& key,
    std::function<bool(const taken_message&)> is_meant
);

} // namespace agui::gateway
