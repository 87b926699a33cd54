#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace agui {

/// Appends to a text that grows in small pieces and is then kept: an eighth of it or 64 bytes at
/// most are spare, where std::string::append leaves up to as much again. A text above a megabyte
/// has up to as much again, too: moving it takes milliseconds, and what is spare of so much are
/// pages that nobody has touched. Amortized constant time a byte. `piece` is no part of `text`.
inline void lean_append(std::string& text, std::string_view piece) {
    constexpr std::size_t least_growth = 64;
    constexpr std::size_t large = 1U << 20U;
    if (text.capacity() - text.size() < piece.size()) {
        // reserve() of a string that holds something doubles it.
        std::string grown;
        const std::size_t growth = text.size() < large ? text.size() / 8 : text.size();
        grown.reserve(text.size() + std::max({piece.size(), growth, least_growth}));
        grown = text;
        text = std::move(grown);
    }
    text.append(piece);
}

} // namespace agui
