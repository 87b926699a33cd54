#include "runner/provider/retry_after.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace agui::runner {

namespace {

using std::chrono::milliseconds;

// A longer wait is nobody's wish. The bound keeps the arithmetic within its types.
constexpr double milliseconds_max = 4294967295.0 * 1000;

/// A text that is a number and nothing else, blanks around it aside; nullopt also for one that is
/// negative, infinite or above the bound.
std::optional<milliseconds> duration_of(std::string_view text, double factor) {
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    while (!text.empty() && text.back() == ' ') {
        text.remove_suffix(1);
    }
    double number = 0;
    const auto read =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() ||
        !(number >= 0 && number * factor <= milliseconds_max)) {
        return std::nullopt;
    }
    return milliseconds(static_cast<milliseconds::rep>(std::ceil(number * factor)));
}

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
    static constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr",
                                                                "May", "Jun", "Jul", "Aug",
                                                                "Sep", "Oct", "Nov", "Dec"};
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
            if (word.size() == 2) { // As POSIX reads it: a server names a date close to now.
                date.year += *number < 69 ? 2000 : 1900;
            }
        }
    }
}

// Sun, 06 Nov 1994 08:49:37 GMT | Sunday, 06-Nov-94 08:49:37 GMT | Sun Nov  6 08:49:37 1994
std::optional<std::chrono::system_clock::time_point> http_date(std::string_view text) {
    constexpr std::string_view separators = " ,-";
    date_parts date;
    while (!text.empty()) {
        const std::size_t length = std::min(text.find_first_of(separators), text.size());
        take_word(date, text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    const std::chrono::year_month_day day{
        std::chrono::year(date.year), std::chrono::month(static_cast<unsigned>(date.month)),
        std::chrono::day(static_cast<unsigned>(date.day))
    };
    if (!date.time || date.year < 1970 || date.year > 9999 || !day.ok()) {
        return std::nullopt;
    }
    return std::chrono::sys_days(day) + *date.time;
}

} // namespace

std::optional<milliseconds> retry_after(
    std::string_view milliseconds_header, std::string_view header,
    std::chrono::system_clock::time_point now
) {
    if (const auto exact = duration_of(milliseconds_header, 1)) {
        return exact;
    }
    if (const auto seconds = duration_of(header, 1000)) {
        return seconds;
    }
    const auto date = http_date(header);
    if (!date) {
        return std::nullopt;
    }
    return std::max(std::chrono::ceil<milliseconds>(*date - now), milliseconds(0));
}

} // namespace agui::runner
