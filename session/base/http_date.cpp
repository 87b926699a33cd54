#include "session/base/http_date.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>

namespace agui {
namespace {

constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> weekdays = {"Sun", "Mon", "Tue", "Wed",
                                                      "Thu", "Fri", "Sat"};

/// A date whose parts come in one of several orders.
struct date_parts {
    int day = 0;
    int month = 0;
    int year = -1;
    std::optional<std::chrono::seconds> time;
};

std::optional<int> number_of(std::string_view text) {
    int number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = !text.empty() && read.ec == std::errc() &&
                       read.ptr == text.data() + text.size() && number >= 0;
    return whole ? std::optional(number) : std::nullopt;
}

// 08:49:37
std::optional<std::chrono::seconds> time_of(std::string_view text) {
    if (text.size() != 8 || text[2] != ':' || text[5] != ':') {
        return std::nullopt;
    }
    const auto hours = number_of(text.substr(0, 2));
    const auto minutes = number_of(text.substr(3, 2));
    const auto seconds = number_of(text.substr(6, 2));
    if (!hours || !minutes || !seconds || *hours > 23 || *minutes > 59 || *seconds > 60) {
        return std::nullopt;
    }
    return std::chrono::seconds((*hours * 60 + *minutes) * 60 + *seconds);
}

int month_of(std::string_view word) {
    const auto found = std::ranges::find(months, word);
    return found == months.end() ? 0 : static_cast<int>(found - months.begin()) + 1;
}

/// In each form the day comes before the year.
void take_word(date_parts& date, std::string_view word) {
    if (const auto time = time_of(word)) {
        date.time = time;
    } else if (const int month = month_of(word); month > 0) {
        date.month = month;
    } else if (const auto number = number_of(word)) {
        if (date.day == 0) {
            date.day = *number;
        } else if (date.year < 0) {
            date.year = *number;
            if (word.size() == 2) { // Read as in POSIX, because a server names a date close to now.
                date.year += *number < 69 ? 2000 : 1900;
            }
        }
    }
}

} // namespace

std::string format_http_date(std::chrono::sys_seconds when) {
    const auto midnight = std::chrono::floor<std::chrono::days>(when);
    const std::chrono::year_month_day day(midnight);
    const std::chrono::hh_mm_ss time(when - midnight);
    char text[40];
    const int size = std::snprintf(
        text, sizeof(text), "%s, %02u %s %04d %02d:%02d:%02d GMT",
        weekdays[std::chrono::weekday(midnight).c_encoding()].data(),
        static_cast<unsigned>(day.day()), months[static_cast<unsigned>(day.month()) - 1].data(),
        static_cast<int>(day.year()), static_cast<int>(time.hours().count()),
        static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count())
    );
    return {text, static_cast<std::size_t>(size)};
}

// Sun, 06 Nov 1994 08:49:37 GMT | Sunday, 06-Nov-94 08:49:37 GMT | Sun Nov  6 08:49:37 1994
std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) {
    constexpr std::string_view separators = " ,-";
    date_parts date;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find_first_of(separators), text.size());
        take_word(date, text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    const std::chrono::year_month_day day{
        std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(date.month)),
        std::chrono::day(static_cast<unsigned>(date.day)) // This keeps the low byte only.
    };
    if (!date.time || date.year < 1970 || date.year > 9999 || date.day > 31 || !day.ok()) {
        return std::nullopt;
    }
    return std::chrono::sys_days(day) + *date.time;
}

} // namespace agui
