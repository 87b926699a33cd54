#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace agui::test {

/// CPU and memory of one step of a measurement. The program's operator new and operator delete
/// count; what other libraries take from malloc is left out.
struct step_cost {
    std::string step;
    std::string outcome;  ///< What came of it, such as a status.
    double ms = 0;        ///< Of all threads that count.
    double megabytes = 0; ///< The most that was allocated at a time, beyond what was before.
};

/// Measures the steps of one input.
class cost_meter {
public:
    /// Runs a step, which returns its outcome. `settle`: other threads may still be at work when it
    /// returns, and are waited for.
    void
    measure(std::string_view step, const std::function<std::string()>& run, bool settle = false);

    /// The step that took the most CPU, and the one that took the most memory.
    [[nodiscard]] const step_cost& slowest() const noexcept { return slowest_; }
    [[nodiscard]] const step_cost& largest() const noexcept { return largest_; }

private:
    step_cost slowest_;
    step_cost largest_;
};

/// A thread that only plays a client or a server: as long as this lives, its CPU and memory do not
/// count.
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
