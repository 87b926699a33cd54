#include "session/base/white_space.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace agui {

namespace {

constexpr std::array<std::string_view, 25> white_spaces{
    "\t",           "\n",           "\v",           "\f",           "\r",           " ",
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82",
    "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88",
    "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F",
    "\xE3\x80\x80",
};

// Most texts begin and end with such a byte, and no white space character does.
bool is_visible_ascii(char byte) noexcept { return byte > ' ' && byte <= '~'; }

/// The number of bytes of the white space character at the start of the text; 0 if there is none.
std::size_t leading(std::string_view text) noexcept {
    if (text.empty() || is_visible_ascii(text.front())) {
        return 0;
    }
    const auto found = std::ranges::find_if(white_spaces, [text](std::string_view each) {
        return text.starts_with(each);
    });
    return found == white_spaces.end() ? 0 : found->size();
}

std::size_t trailing(std::string_view text) noexcept {
    if (text.empty() || is_visible_ascii(text.back())) {
        return 0;
    }
    const auto found = std::ranges::find_if(white_spaces, [text](std::string_view each) {
        return text.ends_with(each);
    });
    return found == white_spaces.end() ? 0 : found->size();
}

} // namespace

bool is_blank(std::string_view text) noexcept {
    while (const std::size_t length = leading(text)) {
        text.remove_prefix(length);
    }
    return text.empty();
}

std::string_view trimmed(std::string_view text) noexcept {
    while (const std::size_t length = leading(text)) {
        text.remove_prefix(length);
    }
    while (const std::size_t length = trailing(text)) {
        text.remove_suffix(length);
    }
    return text;
}

} // namespace agui
