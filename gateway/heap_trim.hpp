#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>

namespace agui::gateway {

/// Returns freed memory to the system: blocks of 1 MB and more as soon as they are freed, the rest
/// periodically from its own thread. The C library keeps free memory between blocks in use, and
/// reading one large conversation leaves much of it. For programs, not for libraries: it affects
/// the whole process. Does nothing without glibc.
class heap_trim {
public:
    struct settings {
        std::chrono::milliseconds period{2000};
        /// Measurements (one per period) before each decision. Their minimum counts as free memory.
        unsigned looks = 5;
        /// Trims if the free memory exceeds the least since the last trim by this many bytes.
        std::size_t least = 1U << 20U;
    };
    explicit heap_trim(settings given);
    heap_trim() : heap_trim(settings()) {}
    ~heap_trim() = default; // Ends the thread.
    heap_trim(const heap_trim&) = delete;
    heap_trim& operator=(const heap_trim&) = delete;

private:
    void run(const std::stop_token& stop);

    const settings settings_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_; // Last: it uses all of the above.
};

} // namespace agui::gateway
