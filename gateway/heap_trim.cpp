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
#else
std::size_t free_bytes() { return 0; }
void trim() {}
#endif

} // namespace

heap_trim::heap_trim(settings given)
    : settings_(given), thread_([this](const std::stop_token& stop) { run(stop); }) {}

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
