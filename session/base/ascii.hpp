#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace agui {

// Protocols ignore the case of A to Z only, whatever the locale.

[[nodiscard]] constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }

[[nodiscard]] constexpr char to_lower(char c) noexcept {
    return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string to_lower(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) { return to_lower(c); });
    return lower;
}

/// True if the texts differ only in the case of letters.
[[nodiscard]] constexpr bool
equal_ignoring_case(std::string_view left, std::string_view right) noexcept {
    return std::ranges::equal(
        left, right, {}, [](char c) { return to_lower(c); }, [](char c) { return to_lower(c); }
    );
}

} // namespace agui
