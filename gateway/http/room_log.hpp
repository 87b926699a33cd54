#pragma once

#include "gateway/base/log_interval.hpp"
#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace agui::gateway {

/// Logs requests that the server had no room for: one line per reason a minute, with the number of
/// requests since the line before. Remembers 16 reasons; others count as one. Safe to call from any
/// thread.
class room_log {
public:
    using time_point = log_interval::time_point;

    explicit room_log(logger& log) : log_(log) {}
    room_log(const room_log&) = delete;
    room_log& operator=(const room_log&) = delete;

    void add(std::string_view reason, time_point now);

private:
    struct reason_count {
        log_interval lines{std::chrono::minutes(1)};
        std::size_t unreported = 0;
    };

    logger& log_;
    mutex mutex_;
    std::map<std::string, reason_count, std::less<>> reasons_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
