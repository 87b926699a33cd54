#include "session/base/clock.hpp"

#include <algorithm>
#include <cstddef>

namespace agui {

namespace {

class real_clock final : public clock {
public:
    [[nodiscard]] unix_ms now() const override {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch()
        )
            .count();
    }
};

// With leading zeros. snprintf() took most of the time of writing a log entry.
void append_number(std::string& to, std::int64_t value, std::size_t digits) {
    const std::string text = std::to_string(value);
    to.append(digits - std::min(digits, text.size()), '0').append(text);
}

} // namespace

const clock& system_clock() {
    static const real_clock instance;
    return instance;
}

std::string iso_time(unix_ms at) {
    using namespace std::chrono;
    const sys_time<milliseconds> time{milliseconds(at)};
    const sys_days day = floor<days>(time);
    const year_month_day date(day);
    const hh_mm_ss of_day(time - day);
    std::string text;
    append_number(text, static_cast<int>(date.year()), 4);
    append_number(text.append("-"), static_cast<unsigned>(date.month()), 2);
    append_number(text.append("-"), static_cast<unsigned>(date.day()), 2);
    append_number(text.append("T"), of_day.hours().count(), 2);
    append_number(text.append(":"), of_day.minutes().count(), 2);
    append_number(text.append(":"), of_day.seconds().count(), 2);
    append_number(text.append("."), of_day.subseconds().count(), 3);
    return text.append("Z");
}

} // namespace agui
