#pragma once

#include <algorithm>
#include <string_view>

namespace agui::runner {

/// White space between the tokens of JSON (RFC 8259, 2).
inline constexpr std::string_view json_blanks = " \t\r\n";

[[nodiscard]] constexpr std::string_view without_blank_begin(std::string_view text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(json_blanks), text.size()));
    return text;
}

[[nodiscard]] constexpr std::string_view without_blank_end(std::string_view text) noexcept {
    return text.substr(0, text.find_last_not_of(json_blanks) + 1);
}

/// True if the text is empty or holds only blanks.
[[nodiscard]] constexpr bool is_json_blank(std::string_view text) noexcept {
    return without_blank_begin(text).empty();
}

} // namespace agui::runner
