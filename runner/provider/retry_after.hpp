#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace agui::runner {

/// How long a server asks to wait before the next attempt; nullopt if it says nothing readable.
/// `milliseconds` is the header `retry-after-ms` of OpenAI and Azure, which is more exact. `header`
/// is Retry-After (RFC 9110, 10.2.3): seconds, which some servers write with a fraction, or an HTTP
/// date in any of its three forms (5.6.7). A date in the past means no wait.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_after(
    std::string_view milliseconds, std::string_view header,
    std::chrono::system_clock::time_point now
);

} // namespace agui::runner
