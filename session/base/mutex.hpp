#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

/// @file
/// Locks that clang checks (`-Wthread-safety`). A member that AGUI_GUARDED_BY names a mutex for is
/// used only with that mutex held; a function with AGUI_REQUIRES is called only with it held. A
/// lambda is analyzed as a function of its own, so one that uses guarded members needs
/// AGUI_REQUIRES after its parameters. Other compilers see none of it.
#if defined(__clang__)
#define AGUI_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define AGUI_THREAD_SAFETY(...)
#endif
#define AGUI_GUARDED_BY(...) AGUI_THREAD_SAFETY(guarded_by(__VA_ARGS__))
#define AGUI_REQUIRES(...) AGUI_THREAD_SAFETY(requires_capability(__VA_ARGS__))

namespace agui {

/// A std::mutex that the analysis knows. Held by a std::lock_guard.
class AGUI_THREAD_SAFETY(capability("mutex")) mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() AGUI_THREAD_SAFETY(acquire_capability()) { own_.lock(); }
    void unlock() noexcept AGUI_THREAD_SAFETY(release_capability()) { own_.unlock(); }

private:
    friend class condition;
    std::mutex own_;
};

/// A std::condition_variable for `mutex`. Wake-ups may be spurious: wait in a loop that tests the
/// condition itself, where the analysis sees it.
class condition {
public:
    void wait(mutex& held) AGUI_REQUIRES(held) {
        std::unique_lock lock(held.own_, std::adopt_lock);
        changed_.wait(lock);
        (void)lock.release();
    }
    std::cv_status wait_until(mutex& held, std::chrono::steady_clock::time_point end)
        AGUI_REQUIRES(held) {
        std::unique_lock lock(held.own_, std::adopt_lock);
        const std::cv_status status = changed_.wait_until(lock, end);
        (void)lock.release();
        return status;
    }
    void notify_one() noexcept { changed_.notify_one(); }
    void notify_all() noexcept { changed_.notify_all(); }

private:
    std::condition_variable changed_;
};

} // namespace agui

/// libstdc++ does not annotate its guard; the analysis knows this one.
template <>
class AGUI_THREAD_SAFETY(scoped_lockable) std::lock_guard<agui::mutex> {
public:
    using mutex_type = agui::mutex;

    explicit lock_guard(agui::mutex& held) AGUI_THREAD_SAFETY(acquire_capability(held))
        : held_(held) {
        held_.lock();
    }
    ~lock_guard() AGUI_THREAD_SAFETY(release_capability()) { held_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    agui::mutex& held_;
};
