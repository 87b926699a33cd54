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
// one makes it keep all blocks up to that size in its heaps, up to 32 MB: after a few large bodies
// hundreds of megabytes that nobody uses. A threshold that is set stays.
void unmap_large_blocks() {
    constexpr int large_bytes = 1 << 20;
    (void)::mallopt(M_MMAP_THRESHOLD, large_bytes);
    (void)::mallopt(M_TRIM_THRESHOLD, 2 * large_bytes); // Twice as much, as the library has it.
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
    // Memory that was already returned still counts as free, so a trim is worth its walk over the
    // heap only for what has been freed since.
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
        // Returning pages that are needed again soon costs more than it saves (5 us per token under
        // load): only what stayed free all this time is returned.
        if (spare - lowest >= settings_.least) {
            trim();
            lowest = now;
        }
        spare = now;
        looks = 0;
    }
}

} // namespace agui::gateway
