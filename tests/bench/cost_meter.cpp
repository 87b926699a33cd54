#include "tests/bench/cost_meter.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include <malloc.h>
#include <pthread.h>
#include <time.h>

namespace {

std::atomic<std::int64_t> bytes_now{0};
std::atomic<std::int64_t> bytes_peak{0};
thread_local bool is_counted = true;

void count(std::int64_t bytes) noexcept {
    if (!is_counted) {
        return;
    }
    const std::int64_t now = bytes_now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t peak = bytes_peak.load(std::memory_order_relaxed);
    while (now > peak && !bytes_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
}

} // namespace

void* operator new(std::size_t size) {
    void* const block = std::malloc(size == 0 ? 1 : size);
    if (block == nullptr) {
        throw std::bad_alloc();
    }
    count(static_cast<std::int64_t>(::malloc_usable_size(block)));
    return block;
}

void operator delete(void* block) noexcept {
    count(-static_cast<std::int64_t>(::malloc_usable_size(block)));
    std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { ::operator delete(block); }

namespace agui::test {

namespace {

// The CPU clocks of the uncounted threads.
std::mutex clocks_mutex;
std::vector<std::optional<clockid_t>> clocks;

double read_ms(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double counted_ms() {
    const std::lock_guard lock(clocks_mutex);
    double all = read_ms(CLOCK_PROCESS_CPUTIME_ID);
    for (const std::optional<clockid_t>& each : clocks) {
        all -= each ? read_ms(*each) : 0;
    }
    return all;
}

// Returns once a millisecond has passed in which nothing was done.
void wait_for_others() {
    constexpr std::chrono::milliseconds pause(1);
    constexpr double idle_ms = 0.05;
    constexpr int most = 2000;
    double before = counted_ms();
    for (int i = 0; i < most; ++i) {
        std::this_thread::sleep_for(pause);
        const double now = counted_ms();
        if (now - before < idle_ms) {
            return;
        }
        before = now;
    }
}

} // namespace

void cost_meter::measure(
    std::string_view step, const std::function<std::string()>& run, bool settle
) {
    if (settle) {
        wait_for_others();
    }
    const std::int64_t bytes = bytes_now.load(std::memory_order_relaxed);
    bytes_peak.store(bytes, std::memory_order_relaxed);
    const double begin = counted_ms();
    step_cost cost{std::string(step), run()};
    if (settle) {
        wait_for_others();
    }
    cost.ms = counted_ms() - begin;
    cost.megabytes = static_cast<double>(bytes_peak.load(std::memory_order_relaxed) - bytes) / 1e6;
    if (cost.ms > slowest_.ms) {
        slowest_ = cost;
    }
    if (cost.megabytes > largest_.megabytes) {
        largest_ = cost;
    }
}

uncounted_thread::uncounted_thread() {
    clockid_t clock{};
    ::pthread_getcpuclockid(::pthread_self(), &clock);
    const std::lock_guard lock(clocks_mutex);
    clocks.push_back(clock);
    place_ = clocks.size() - 1;
    is_counted = false;
}

uncounted_thread::~uncounted_thread() {
    const std::lock_guard lock(clocks_mutex);
    clocks[place_].reset();
    is_counted = true;
}

} // namespace agui::test
