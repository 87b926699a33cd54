#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace agui {

/// Appends to a text that grows in small pieces and is then kept: an eighth of it or 64 bytes at
/// most are spare, where std::string::append leaves up to as much again. Amortized constant time a
/// byte. `piece` is no part of `text`.
inline void lean_append(std::string& text, std::string_view piece) {
    constexpr std::size_t least_growth = 64;
    if (text.capacity() - text.size() < piece.size()) {
        // reserve() of a string that holds something doubles it.
        std::string grown;
        grown.reserve(text.size() + std::max({piece.size(), text.size() / 8, least_growth}));
        grown = text;
        text = std::move(grown);
    }
    text.append(piece);
}

} // namespace agui
