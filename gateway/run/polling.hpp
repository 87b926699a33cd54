#pragma once

#include <chrono>

namespace agui::gateway {

// How often this process polls the store for changes that other processes make and do not announce.

/// Interval for a change that is due within milliseconds, such as a lease that is being released.
inline constexpr std::chrono::milliseconds poll_soon{20};
/// Interval for the end of a run, an event or a stop. A gateway that can be asked announces these
/// itself.
inline constexpr std::chrono::milliseconds poll_period{500};
/// Interval for changes that no caller is waiting for. A process reports its readers of another
/// process's run at the same interval (store::note_reader). A report expires after three intervals.
inline constexpr std::chrono::milliseconds poll_rarely{3'000};

} // namespace agui::gateway
