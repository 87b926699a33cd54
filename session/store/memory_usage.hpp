#pragma once

#include "session/base/mutex.hpp"
#include "session/base/text_map.hpp"
#include "session/store/usage.hpp"

#include <string>
#include <utility>
#include <vector>

namespace agui::session {

/// The usage that the memory store counts. Safe to use from any thread.
class memory_usage {
public:
    /// store::reserve_usage().
    [[nodiscard]] usage_reservation
    reserve(const std::vector<usage_claim>& claims, const usage_amount& amount, unix_ms now);
    /// store::settle_usage(). Does nothing for a day or a month that has passed.
    void settle(const usage_settlement& what);
    /// store::read_usage().
    [[nodiscard]] usage_reading read(const std::vector<std::string>& subjects, unix_ms now) const;
    /// Erases the subjects that have used nothing in the month of `now`.
    void drop_before(unix_ms now);

private:
    struct counter {
        std::int64_t period = 0; ///< period_number()
        usage_amount used;
        /// The amount used in the period `now`.
        [[nodiscard]] usage_amount in(std::int64_t now) const noexcept {
            return period == now ? used : usage_amount();
        }
        void add(std::int64_t now, const usage_amount& more) noexcept {
            used = in(now);
            used += more;
            period = now;
        }
    };
    struct counters {
        counter day;
        counter month;
    };

    [[nodiscard]] counters of(const std::string& subject) const AGUI_REQUIRES(mutex_);

    mutable mutex mutex_;
    text_map<counters> subjects_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::session
