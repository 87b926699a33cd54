#pragma once

#include "session/base/work_count.hpp"

#include <cstddef>

namespace agui::runner {

/// Thrown by check_budget::take() to end a recursion. No public function lets it pass.
struct too_much_work {};

/// Units for all argument checks of one turn, which block its I/O thread: 10 ms at the 20 ns of the
/// most expensive units. A member of ordinary arguments takes 5 to 10 units.
inline constexpr std::size_t max_check_units = 480'000;

/// Limits the work of checks. A unit is one simple comparison, including 64 bytes of text.
class check_budget {
public:
    explicit check_budget(std::size_t units = max_check_units) noexcept : left_(units) {}

    /// Throws too_much_work if fewer units are left.
    void take(std::size_t units = 1) {
        if (units > left_) {
            left_ = 0;
            throw too_much_work();
        }
        left_ -= units;
        count_work(units);
    }
    void take_text(std::size_t bytes) { take(1 + bytes / 64); }

private:
    std::size_t left_;
};

} // namespace agui::runner
