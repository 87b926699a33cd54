#pragma once

#include <cstddef>

#ifdef AGUI_VERIFY_EVENTS
#include <atomic>
#include <cstdint>
#endif

namespace agui {

// The cost of reading, planning, applying and storing a request, in steps instead of seconds: a
// test compares the count for a request with the count for one of the same shape and twice the
// size. A step is one value read, one message or call visited, one part normalized or hashed. Does
// nothing in builds without AGUI_VERIFY_EVENTS.

#ifdef AGUI_VERIFY_EVENTS
inline std::atomic<std::uint64_t> work_done{0};

inline void count_work(std::size_t steps = 1) noexcept {
    work_done.fetch_add(steps, std::memory_order_relaxed);
}
#else
inline void count_work(std::size_t /*steps*/ = 1) noexcept {}
#endif

} // namespace agui
