#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace agui::bench {

// CPU time in nanoseconds that the threads of a process have used so far
// (/proc/PID/task/*/schedstat). Threads that have ended do not count. Throws std::runtime_error if
// the process is gone.
[[nodiscard]] std::int64_t cpu_ns(pid_t pid);

// The same for a process and its children, ended ones included, such as a database server with one
// process a connection.
[[nodiscard]] std::int64_t cpu_ns_with_children(pid_t pid);

// Proportional set size in KB (/proc/PID/smaps_rollup). Throws std::runtime_error if it cannot be
// read.
[[nodiscard]] std::int64_t pss_kb(pid_t pid);

// The number of files and sockets that a process has open.
[[nodiscard]] std::int64_t descriptor_count(pid_t pid);

// The kernel's counts for some cores since boot (/proc/stat, granularity 10 ms).
struct core_times {
    std::int64_t busy_ms =
        0; // every process and the kernel; minus the processes of a round, this is the noise
    std::int64_t steal_ms = 0; // taken by the hypervisor
};
[[nodiscard]] core_times read_core_times(const std::vector<int>& cores);

// Samples the PSS and the descriptors of a process on its own thread until stop(). The walk over
// the pages costs CPU on the reader's core only; the pause after a sample is at least 20 times what
// the sample took.
class pss_sampler {
public:
    explicit pss_sampler(pid_t pid);
    ~pss_sampler();
    pss_sampler(const pss_sampler&) = delete;
    pss_sampler& operator=(const pss_sampler&) = delete;

    struct result {
        std::int64_t base_kb = 0; // before any sample
        std::int64_t peak_kb = 0;
        std::int64_t descriptors = 0; // the highest count
        std::int64_t samples = 0;
        std::int64_t longest_sample_us = 0;
    };

    // Ends the thread after a last sample. Throws std::runtime_error if the process had gone.
    [[nodiscard]] result stop();

private:
    void work();
    std::int64_t sample(); // returns the nanoseconds to pause before the next one
    void join();

    pid_t pid_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    result result_;     // written by the thread; read after it was joined
    std::string error_; // as result_
    std::thread thread_;
};

} // namespace agui::bench
