#pragma once

#include <cstdint>
#include <ctime>

namespace agui::bench {

inline constexpr std::int64_t ns_per_us = 1'000;
inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_second = 1'000'000'000;

// CLOCK_MONOTONIC in nanoseconds. The model mock stamps tokens with this clock and the load
// generator subtracts its stamps, so both must run on the same machine.
[[nodiscard]] inline std::int64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * ns_per_second + time.tv_nsec;
}

[[nodiscard]] inline timespec to_timespec(std::int64_t ns) {
    return {.tv_sec = ns / ns_per_second, .tv_nsec = ns % ns_per_second};
}

} // namespace agui::bench
