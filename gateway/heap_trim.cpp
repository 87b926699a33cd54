#include "gateway/heap_trim.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace agui::gateway {

namespace {

#ifdef __GLIBC__
std::size_t free_bytes() { return ::mallinfo2().fordblks; }
void trim() { (void)::malloc_trim(0); }

// The C library maps large blocks one by one, and unmaps them when they are freed. But each freed
// one raises the threshold, up to 32 MB, below which blocks stay in its heaps: a few large bodies
// leave hundreds of unused megabytes. Setting the threshold fixes it.
void unmap_large_blocks() {
    constexpr int large_bytes = 1 << 20;
    (void)::mallopt(M_MMAP_THRESHOLD, large_bytes);
    // Twice as much, as the library itself does.
    (void)::mallopt(M_TRIM_THRESHOLD, 2 * large_bytes);
}
#else
std::size_t free_bytes() { return 0; }
void trim() {}
void unmap_large_blocks() {}
#endif

} // namespace

heap_trim::heap_trim(settings given)
    : settings_(given), thread_([this](const std::stop_token& stop) { run(stop); }) {
    unmap_large_blocks();
}

void heap_trim::run(const std::stop_token& stop) {
    (void)::pthread_setname_np(::pthread_self(), "agui-trim");
    // Returned memory still counts as free. A trim walks over the whole heap, so it pays only for
    // memory freed since the last one.
    std::size_t lowest = free_bytes();
    std::size_t spare = lowest;
    unsigned looks = 0;
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        wake_.wait_for(lock, stop, settings_.period, [] { return false; });
        const std::size_t now = free_bytes();
        lowest = std::min(lowest, now);
        spare = std::min(spare, now);
        if (++looks < settings_.looks) {
            continue;
        }
        // Returning pages that are soon needed again costs more than it saves (5 us per token under
        // load), so only memory that stayed free in all measurements counts.
        if (spare - lowest >= settings_.least) {
            trim();
            lowest = now;
        }
        spare = now;
        looks = 0;
    }
}

} // namespace agui::gateway
