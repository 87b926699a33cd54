#include "session/base/sound_text.hpp"

#include "session/base/id.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

namespace agui {

namespace {

struct code_points {
    char32_t first, last;
};

constexpr std::array<code_points, 8> misleading{{
    {0x00AD, 0x00AD},   // SOFT HYPHEN
    {0x061C, 0x061C},   // ARABIC LETTER MARK
    {0x200B, 0x200B},   // ZERO WIDTH SPACE
    {0x200E, 0x200F},   // LEFT-TO-RIGHT MARK, RIGHT-TO-LEFT MARK
    {0x2060, 0x206F},   // WORD JOINER, invisible operators, isolates, deprecated controls
    {0xFEFF, 0xFEFF},   // ZERO WIDTH NO-BREAK SPACE
    {0xFFF9, 0xFFFB},   // Interlinear annotations
    {0xE0000, 0xE007F}, // Tags: a second ASCII that is not shown
}};

// What else has no shape of its own, though some texts need it.
constexpr std::array<code_points, 9> shapeless{{
    {0x034F, 0x034F},   // COMBINING GRAPHEME JOINER
    {0x115F, 0x1160},   // Hangul fillers
    {0x17B4, 0x17B5},   // Khmer inherent vowels
    {0x180B, 0x180F},   // Mongolian variation selectors and vowel separator
    {0x200C, 0x200D},   // Joiners
    {0x3164, 0x3164},   // HANGUL FILLER
    {0xFE00, 0xFE0F},   // Variation selectors
    {0xFFA0, 0xFFA0},   // HALFWIDTH HANGUL FILLER
    {0xE0080, 0xE0FFF}, // Variation selectors and reserved ones that are not shown
}};

template <std::size_t N>
bool is_in(const std::array<code_points, N>& ranges, char32_t point) noexcept {
    return std::ranges::any_of(ranges, [point](const code_points& range) {
        return point >= range.first && point <= range.last;
    });
}

// Returns the number of bytes of `point` in UTF-8. All points that are looked for have two or more.
std::size_t size_of(char32_t point) noexcept { return point < 0x800 ? 2 : point < 0x10000 ? 3 : 4; }

// The first character, or 0 if it is ASCII. Meaningless if the text is not UTF-8.
char32_t first_point(std::string_view text) noexcept {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t size = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (size == 1 || text.size() < size) {
        return 0;
    }
    char32_t point = lead & (0xFFU >> (size + 1));
    for (const char c : text.substr(1, size - 1)) {
        point = (point << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
    }
    return point;
}

void append_escaped(std::string& to, char32_t point) {
    constexpr std::size_t digits_min = 4;
    std::array<char, 8> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), std::uint32_t{point}, 16).ptr;
    const std::string_view number(digits.data(), end);
    to.append("\\u").append(number.size() > digits_min ? "{" : "");
    to.append(digits_min - std::min(digits_min, number.size()), '0').append(number);
    to.append(number.size() > digits_min ? "}" : "");
}

} // namespace

std::size_t misleading_character(std::string_view text) noexcept {
    if (const std::size_t unsound = unsound_character(text); unsound != 0) {
        return unsound;
    }
    const char32_t point = first_point(text);
    return is_in(misleading, point) ? size_of(point) : 0;
}

std::string visible_text(std::string_view text) {
    std::string visible;
    visible.reserve(text.size());
    while (!text.empty()) {
        const char32_t point = first_point(text);
        std::size_t length = misleading_character(text);
        if (length == 0 && is_in(shapeless, point)) {
            length = size_of(point);
        }
        if (length == 0) {
            visible.push_back(text.front());
            text.remove_prefix(1);
            continue;
        }
        append_escaped(visible, length == 1 ? static_cast<unsigned char>(text.front()) : point);
        text.remove_prefix(length);
    }
    return visible;
}

std::string sound_text(std::string_view text, std::string_view kept) {
    std::string sound;
    sound.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = misleading_character(text);
        if (length == 0 || kept.find(text.front()) != std::string_view::npos) {
            sound.push_back(text.front());
            text.remove_prefix(1);
        } else {
            text.remove_prefix(length);
        }
    }
    return sound;
}

} // namespace agui
