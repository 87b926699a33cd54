#pragma once

#include "runner/loop/agent_loop.hpp"
#include "session/base/clock.hpp"
#include "session/base/log.hpp"
#include "session/conversation/thread.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace agui::gateway {

// Values of run_record::end_reason for successful runs: without more to do, and those that leave
// calls to the caller.
inline constexpr std::string_view completed = "completed";
inline constexpr std::string_view handed_off = "external_tool";
inline constexpr std::string_view answered_in_part = "partial_answers";
/// The same for a run that waits for a person's approval.
inline constexpr std::string_view interrupted = "interrupt";

/// The record of a run that ends with `end`. `begun` is the record of its beginning.
[[nodiscard]] session::run_record ended_record(
    const session::run_record& begun, const runner::run_end& end, unix_ms ended_at,
    std::uint64_t last_sequence
);

/// The session event of a run's end.
[[nodiscard]] session::session_event end_event(const session::run_record& ended);

/// Writes the log line of a run's end.
void log_end(
    logger& log, std::string_view thread_id, const session::run_record& ended,
    const std::vector<runner::token_usage>& usage
);

} // namespace agui::gateway
