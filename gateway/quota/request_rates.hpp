#pragma once

#include "session/base/mutex.hpp"
#include "session/base/text_map.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The requests of one subject in the last minute, to the second. Used by one thread at a time.
class minute_window {
public:
    /// The requests of the 60 s before the end of this second, and of what remains of the second
    /// before them.
    [[nodiscard]] std::uint32_t count(std::int64_t second);
    void add(std::int64_t second);
    [[nodiscard]] bool is_idle(std::int64_t second) const noexcept;
    /// Seconds until the first of the requests is forgotten; 0 if there are none.
    [[nodiscard]] std::int64_t until_next(std::int64_t second) const noexcept;

private:
    /// Seconds with requests and their numbers, in order: at most 61.
    std::vector<std::pair<std::int64_t, std::uint32_t>> seconds_;
    std::uint32_t count_ = 0;
};

/// Counts requests, so that a subject never has more than its limit within any 60 s. It remembers
/// subjects_max subjects of each name, and forgets those without a request in the last minute.
/// While all of them have requests, further subjects of that name share one count. So addresses,
/// which anybody may have many of, take no place of users. Safe to use from any thread.
class request_rates {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// The subjects take about 25 MB if each has a request in every second.
    static constexpr std::size_t default_subjects_max = 20'000;

    explicit request_rates(std::size_t subjects_max = default_subjects_max)
        : subjects_max_(subjects_max) {}

    struct claim {
        std::string_view name; ///< The quota's name: to_string(quota_scope).
        std::string subject;
        std::uint32_t limit = 0;
    };
    /// The state of one claim after the request.
    struct state {
        std::string_view name;
        std::uint32_t limit = 0;
        std::uint32_t remaining = 0;
        std::int64_t reset = 0; ///< Seconds until more remain.
        bool exceeded = false;
    };

    /// Counts a request for all subjects, or for none if one of them is at its limit. Returns a
    /// state for each claim.
    [[nodiscard]] std::vector<state> add(const std::vector<claim>& claims, time_point now);
    /// The same without a request.
    [[nodiscard]] state look(const claim& what, time_point now);
    [[nodiscard]] std::size_t size() const;

private:
    [[nodiscard]] minute_window& window_of(const claim& what, std::int64_t second)
        AGUI_REQUIRES(mutex_);
    /// The subjects of one name.
    struct subjects {
        text_map<minute_window> windows;
        minute_window others;
        std::int64_t last_sweep = 0;

        void forget_idle(std::int64_t second);
    };

    const std::size_t subjects_max_;
    mutable mutex mutex_;
    text_map<subjects> names_ AGUI_GUARDED_BY(mutex_);
};

/// Adds RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-headers-10) for the states.
void add_rate_headers(
    const std::vector<request_rates::state>& states,
    std::vector<std::pair<std::string, std::string>>& headers
);

} // namespace agui::gateway
