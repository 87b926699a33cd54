#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agui {

/// The length in bytes of the first character of `text` (UTF-8, not empty) if a reader does not see
/// it, or sees other characters differently because of it; otherwise 0. These are the characters of
/// unsound_character(), all of Unicode's Bidi_Control, tags, and invisible ones, except joiners
/// (U+200C, U+200D) and variation selectors: Persian, Indian scripts and emoji need them.
[[nodiscard]] std::size_t misleading_character(std::string_view text) noexcept;

/// UTF-8 `text` without the characters that misleading_character() finds, except those (ASCII) in
/// `kept`. Use it for names and descriptions that others write, and people and models read.
[[nodiscard]] std::string sound_text(std::string_view text, std::string_view kept = {});

/// UTF-8 `text` with each character that a reader does not see, or that changes how others are
/// shown, as `\uXXXX`, or as `\u{XXXXX}` if it is beyond U+FFFF. These are those of
/// misleading_character(), joiners, variation selectors and blank letters.
[[nodiscard]] std::string visible_text(std::string_view text);

} // namespace agui
