#pragma once

#include <chrono>
#include <optional>

namespace agui::gateway {

/// For a log line about something that may happen often: at most one line per period. Used by one
/// thread at a time.
class log_interval {
public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit log_interval(std::chrono::seconds period) : period_(period) {}

    /// True: a line may be written now, and no other for one period.
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
