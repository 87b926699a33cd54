#include "runner/provider/retry_after.hpp"

#include "session/base/http_date.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace agui::runner {

namespace {

using std::chrono::milliseconds;

// A longer wait is of no use. The bound keeps the arithmetic within its types.
constexpr double milliseconds_max = 4294967295.0 * 1000;

/// The duration if the text is a number and nothing else except blanks around it; nullopt also if
/// it is negative, infinite or above the bound.
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
    const auto date = parse_http_date(header);
    if (!date) {
        return std::nullopt;
    }
    return std::max(std::chrono::ceil<milliseconds>(*date - now), milliseconds(0));
}

} // namespace agui::runner
