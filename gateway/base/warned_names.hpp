#pragma once

#include "gateway/base/log_interval.hpp"
#include "session/base/mutex.hpp"

#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace agui::gateway {

/// Limits warnings about names that clients send to one log line per kind and name an hour. Holds
/// at most 256 names, because clients can make names up; further names get no line. Safe to use
/// from any thread.
class warned_names {
public:
    using time_point = log_interval::time_point;

    /// Returns true if a line may be written. `name` is short.
    [[nodiscard]] bool due(std::string_view kind, std::string_view name, time_point now) {
        std::pair<std::string, std::string> key(kind, name);
        const std::lock_guard lock(mutex_);
        if (told_.size() >= most_ && !told_.contains(key)) {
            for (auto each = told_.begin(); each != told_.end();) {
                each = each->second.due(now) ? told_.erase(each) : std::next(each);
            }
            if (told_.size() >= most_) {
                return false;
            }
        }
        return told_.try_emplace(std::move(key), period_).first->second.due(now);
    }

private:
    static constexpr std::size_t most_ = 256;
    static constexpr std::chrono::hours period_{1};

    mutex mutex_;
    std::map<std::pair<std::string, std::string>, log_interval> told_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
