#pragma once

#include "gateway/log/event_log.hpp"
#include "runner/base/stop_reason.hpp"
#include "session/base/clock.hpp"
#include "session/conversation/thread.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// The events that end a run for the readers of its log if no end is stored: they close everything
/// that the readers have seen open, then RUN_ERROR gives the reason (P1, P2). For
/// event_log::end_without_store(). Freezes the log.
[[nodiscard]] std::vector<std::string> unstored_end(
    event_log& log, std::string_view thread_id, const session::run_record& run,
    runner::stop_reason reason, const clock& time
);

} // namespace agui::gateway
