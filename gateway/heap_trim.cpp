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
    // What is free and was given back counts as free: only what has been added to it is worth a
    // walk.
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
        // Pages that are asked for again soon cost more than they are worth (5 us a token under
        // load): only what nobody has used in all this time goes.
        if (spare - lowest >= settings_.least) {
            trim();
            lowest = now;
        }
        spare = now;
        looks = 0;
    }
}

} // namespace agui::gateway
