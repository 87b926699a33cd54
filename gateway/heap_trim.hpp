#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <thread>

namespace agui::gateway {

/// Gives memory that was freed back to the system, by itself, from a thread of its own: the C
/// library keeps what lies between pieces that are in use, and a conversation that was read for a
/// moment leaves much of that. For a program, not for a library: it is about the whole process.
/// Does nothing where the C library is not glibc.
class heap_trim {
public:
    struct settings {
        std::chrono::milliseconds period{2000};
        /// One each period; what is free at all of them is given back.
        unsigned looks = 5;
        std::size_t least = 1U << 20U; ///< If it is so much more than since the last time.
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
