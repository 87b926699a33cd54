#pragma once

#include <cstddef>
#include <string_view>

namespace agui::runner {

/// U+FFFD, in place of bytes that are not UTF-8.
inline constexpr std::string_view utf8_replacement = "\xEF\xBF\xBD";

/// Whether a surrogate, as the three bytes that UTF-8 would give it (WTF-8), counts as a character.
enum class surrogates { refused, taken };

/// The first character of a text.
struct utf8_sequence {
    enum class kind {
        whole,
        cut, ///< The text ends within the character.
        bad,
    };
    kind what = kind::whole;
    std::size_t length = 1; ///< If invalid: length of its valid prefix, at least one.
};

/// The first sequence of a text that is not empty (Unicode 15, table 3-7). Inline, because it is
/// called for each non-ASCII character of a model's answer.
[[nodiscard]] inline utf8_sequence
first_character(std::string_view text, surrogates halves = surrogates::refused) noexcept {
    using kind = utf8_sequence::kind;
    const auto byte = [text](std::size_t at) {
        return static_cast<unsigned char>(text[at]);
    };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return {};
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return {kind::bad, 1};
    }
    // The second byte rules out overlong forms, surrogates and values beyond U+10FFFF.
    const bool no_half = lead == 0xED && halves == surrogates::refused;
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xF4 ? 0x8F : no_half ? 0x9F : 0xBF;
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    for (std::size_t at = 1; at < length; ++at) {
        if (at == text.size()) {
            return {kind::cut, at};
        }
        if (byte(at) < low || byte(at) > high) {
            return {kind::bad, at};
        }
        low = 0x80;
        high = 0xBF;
    }
    return {kind::whole, length};
}

} // namespace agui::runner
