#include "session/base/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdio>

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
    std::array<char, 40> text{};
    const int size = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
        static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<int>(of_day.hours().count()),
        static_cast<int>(of_day.minutes().count()), static_cast<int>(of_day.seconds().count()),
        static_cast<int>(of_day.subseconds().count())
    );
    return {text.data(), static_cast<std::size_t>(size)};
}

} // namespace agui
