#pragma once

#include "session/base/clock.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agui::session {

/// What calls of models have used. All counts are at least 0 and at most usage_max.
struct usage_amount {
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    std::int64_t micro_cost = 0; ///< In millionths of the operator's unit of currency.

    usage_amount& operator+=(const usage_amount& other) noexcept;
    usage_amount& operator-=(const usage_amount& other) noexcept;
    friend bool operator==(const usage_amount&, const usage_amount&) = default;
};

/// Limit of each count of one call. The sums of a month then fit 64 bits.
inline constexpr std::int64_t usage_max = 1'000'000'000'000;

/// The most that may be used in a period; nullopt for no limit.
struct usage_limits {
    std::optional<std::int64_t> input_tokens{};
    std::optional<std::int64_t> output_tokens{};
    std::optional<std::int64_t> micro_cost{};

    [[nodiscard]] bool any() const noexcept { return input_tokens || output_tokens || micro_cost; }
    /// True if `more` may be added to `used`. A count of which `more` has none is not looked at: a
    /// model without a price may be asked when the money is spent.
    [[nodiscard]] bool allow(const usage_amount& used, const usage_amount& more) const noexcept;

    friend bool operator==(const usage_limits&, const usage_limits&) = default;
};

/// Days and months are those of UTC.
enum class usage_period { day, month };

/// One of those for whom a call is counted.
struct usage_claim {
    std::string subject; ///< A name that the caller chooses.
    usage_limits day;
    usage_limits month;
};

/// More are a bug: a call is counted for a principal, a tenant and an address at most.
inline constexpr std::size_t usage_claims_max = 8;

/// The limit that a call would exceed.
struct usage_refusal {
    std::size_t claim = 0; ///< Its index.
    usage_period period = usage_period::day;
};

/// The result of store::reserve_usage().
struct usage_reservation {
    unix_ms at = 0; ///< The store's time, which decided about the day and the month.
    std::optional<usage_refusal> refused{}; ///< If set, nothing was reserved.
};

/// The end of a call whose usage was reserved.
struct usage_settlement {
    std::vector<std::string> subjects; ///< The subjects of the claims that reserved it.
    unix_ms at = 0;                    ///< usage_reservation::at
    usage_amount reserved;
    usage_amount used;
};

struct subject_usage {
    usage_amount day;
    usage_amount month;
};

/// The usage of some subjects, in the order in which they were asked for.
struct usage_reading {
    unix_ms at = 0; ///< The store's time: its day and its month are meant.
    std::vector<subject_usage> subjects;
};

/// The number under which the usage of a day (20261129) or a month (202611) is stored.
[[nodiscard]] std::int64_t period_number(unix_ms at, usage_period period) noexcept;

/// The first moment after the day or the month of `at`.
[[nodiscard]] unix_ms end_of_period(unix_ms at, usage_period period) noexcept;

/// The first period that store::drop_logs() keeps: usage of days is kept for 40 days, that of
/// months for 400.
[[nodiscard]] std::int64_t first_kept_period(unix_ms now, usage_period period) noexcept;

/// The day and the month of `at`, as period_number() gives them.
struct usage_periods {
    explicit usage_periods(unix_ms at) noexcept
        : day(period_number(at, usage_period::day)),
          month(period_number(at, usage_period::month)) {}

    std::int64_t day;
    std::int64_t month;
};

} // namespace agui::session
