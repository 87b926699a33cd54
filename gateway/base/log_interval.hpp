#pragma once

#include <chrono>
#include <optional>

namespace agui::gateway {

/// Limits a log line about a frequent event to one per period. Used by one thread at a time.
class log_interval {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit log_interval(std::chrono::seconds period) : period_(period) {}

    /// Returns true if a line may be written. Then no other may be written for one period.
    [[nodiscard]] bool due(time_point now) {
        if (last_ && now - *last_ < period_) {
            return false;
        }
        last_ = now;
        return true;
    }

private:
    std::chrono::seconds period_;
    std::optional<time_point> last_;
};

} // namespace agui::gateway
