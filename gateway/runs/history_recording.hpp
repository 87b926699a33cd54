#pragma once

#include "gateway/log/event_log.hpp"
#include "gateway/run/run_core.hpp"
#include "session/base/error.hpp"
#include "session/conversation/thread.hpp"
#include "translator/input/run_input.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>

namespace agui::gateway {

/// A thread as events, for POST /agui/history.
struct history_recording {
    /// RUN_STARTED to RUN_FINISHED, around snapshots of the thread.
    std::shared_ptr<event_log> log;
    /// The log of the thread's active run. Null if there is none or it was not requested.
    std::shared_ptr<event_log> live;
    std::uint64_t live_offset = 0; ///< attached_log::offset of `live`.
};

/// run_service::history(). `input` must outlive the await.
[[nodiscard]] boost::asio::awaitable<result<history_recording>> record_history(
    std::shared_ptr<run_core> core, session::thread_key key, const translator::run_input& input,
    session::thread_key links
);

} // namespace agui::gateway
