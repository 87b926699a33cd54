#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace agui::test {

/// CPU and memory of one step of a measurement. Memory from the program's operator new counts;
/// memory that other libraries take from malloc does not.
struct step_cost {
    std::string step;
    std::string outcome;  ///< The result, such as a status.
    double ms = 0;        ///< CPU time of all threads that count.
    double megabytes = 0; ///< The peak of allocated memory above its value before the step.
};

/// Measures the steps of one input.
class cost_meter {
public:
    /// Runs a step, which returns its outcome. With `settle`, waits for other threads that may
    /// still be at work when it returns.
    void
    measure(std::string_view step, const std::function<std::string()>& run, bool settle = false);

    /// The step that took the most CPU, and the one that took the most memory.
    [[nodiscard]] const step_cost& slowest() const noexcept { return slowest_; }
    [[nodiscard]] const step_cost& largest() const noexcept { return largest_; }

private:
    step_cost slowest_;
    step_cost largest_;
};

/// A thread that only plays a client or a server. While this object exists, the thread's CPU and
/// memory do not count.
class uncounted_thread {
public:
    uncounted_thread();
    ~uncounted_thread();
    uncounted_thread(const uncounted_thread&) = delete;
    uncounted_thread& operator=(const uncounted_thread&) = delete;

private:
    std::size_t place_;
};

} // namespace agui::test
