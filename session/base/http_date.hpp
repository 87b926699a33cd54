#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace agui {

/// The date as HTTP servers write it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
/// Does not depend on the locale. The year is between 0 and 9999.
[[nodiscard]] std::string format_http_date(std::chrono::sys_seconds when);

/// Reads a date in any of the three forms of that section; nullopt for anything else.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text);

} // namespace agui
