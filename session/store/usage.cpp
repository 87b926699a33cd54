#include "session/store/usage.hpp"

#include <chrono>

namespace agui::session {

namespace {

namespace chrono = std::chrono;

constexpr chrono::days days_kept{40};
constexpr chrono::days months_kept{400};

chrono::sys_days day_of(unix_ms at) noexcept {
    return chrono::floor<chrono::days>(
        chrono::sys_time<chrono::milliseconds>(chrono::milliseconds(at))
    );
}

unix_ms start_of(chrono::sys_days day) noexcept {
    return chrono::duration_cast<chrono::milliseconds>(day.time_since_epoch()).count();
}

bool fits(const std::optional<std::int64_t>& limit, std::int64_t used, std::int64_t more) noexcept {
    return !limit || more <= 0 || used + more <= *limit;
}

} // namespace

usage_amount& usage_amount::operator+=(const usage_amount& other) noexcept {
    input_tokens += other.input_tokens;
    output_tokens += other.output_tokens;
    micro_cost += other.micro_cost;
    return *this;
}

usage_amount& usage_amount::operator-=(const usage_amount& other) noexcept {
    input_tokens -= other.input_tokens;
    output_tokens -= other.output_tokens;
    micro_cost -= other.micro_cost;
    return *this;
}

bool usage_limits::allow(const usage_amount& used, const usage_amount& more) const noexcept {
    return fits(input_tokens, used.input_tokens, more.input_tokens) &&
           fits(output_tokens, used.output_tokens, more.output_tokens) &&
           fits(micro_cost, used.micro_cost, more.micro_cost);
}

std::int64_t period_number(unix_ms at, usage_period period) noexcept {
    const chrono::year_month_day date(day_of(at));
    const std::int64_t month =
        std::int64_t{static_cast<int>(date.year())} * 100 + static_cast<unsigned>(date.month());
    return period == usage_period::month ? month : month * 100 + static_cast<unsigned>(date.day());
}

unix_ms end_of_period(unix_ms at, usage_period period) noexcept {
    const chrono::sys_days today = day_of(at);
    if (period == usage_period::day) {
        return start_of(today + chrono::days(1));
    }
    const chrono::year_month_day date(today);
    const auto next = date.year() / date.month() / chrono::day(1) + chrono::months(1);
    return start_of(chrono::sys_days(next));
}

std::int64_t first_kept_period(unix_ms now, usage_period period) noexcept {
    const chrono::days kept = period == usage_period::day ? days_kept : months_kept;
    return period_number(start_of(day_of(now) - kept), period);
}

} // namespace agui::session
