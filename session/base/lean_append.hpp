#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace agui {

/// Appends to a text that grows in small pieces and is then kept. Where std::string::append may
/// double the capacity, this leaves an eighth of the text spare, or 64 bytes if that is more. Only
/// above a megabyte the capacity doubles here too: copying takes milliseconds then, and pages that
/// were never written take no memory. Amortized constant time per byte. `piece` must not point into
/// `text`.
inline void lean_append(std::string& text, std::string_view piece) {
    constexpr std::size_t least_growth = 64;
    constexpr std::size_t large = 1U << 20U;
    if (text.capacity() - text.size() < piece.size()) {
        // Into a new string: reserve() on one that is not empty doubles its capacity.
        std::string grown;
        const std::size_t growth = text.size() < large ? text.size() / 8 : text.size();
        grown.reserve(text.size() + std::max({piece.size(), growth, least_growth}));
        grown = text;
        text = std::move(grown);
    }
    text.append(piece);
}

} // namespace agui
