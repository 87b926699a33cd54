#include "gateway/demo_colour.hpp"

#include "session/base/ascii.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace agui::gateway {

namespace {

constexpr std::array<std::string_view, 31> colour_names{
    "beige",     "black",      "blue",        "brown",   "coral",  "crimson", "darkblue",
    "darkgreen", "gold",       "green",       "grey",    "indigo", "khaki",   "lavender",
    "lightblue", "lightgreen", "lightyellow", "magenta", "maroon", "orange",  "orchid",
    "pink",      "purple",     "red",         "salmon",  "silver", "teal",    "turquoise",
    "violet",    "white",      "yellow"
};

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

/// A `#rrggbb` or `#rgb` in the text, or empty.
std::string hex_colour(std::string_view text) {
    for (std::size_t at = text.find('#'); at != std::string_view::npos;
         at = text.find('#', at + 1)) {
        std::size_t digits = 0;
        while (at + 1 + digits < text.size() && is_hex(text[at + 1 + digits])) {
            ++digits;
        }
        if (digits == 3 || digits == 6) {
            return std::string(text.substr(at, digits + 1));
        }
    }
    return {};
}

bool is_colour(std::string_view word) {
    return std::ranges::find(colour_names, word) != colour_names.end();
}

/// The first color that the text names, as one word or two ("light blue"), or empty.
std::string named_colour(std::string_view text) {
    std::string before;
    std::string word;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && text[i] >= 'a' && text[i] <= 'z') {
            word += text[i];
            continue;
        }
        if (word.empty()) {
            continue;
        }
        if (is_colour(before + word)) {
            return before + word;
        }
        if (is_colour(word)) {
            return word;
        }
        before = std::exchange(word, {});
    }
    return {};
}

} // namespace

std::string wanted_colour(std::string_view text) {
    const std::string small = to_lower(text);
    if (std::string hex = hex_colour(small); !hex.empty()) {
        return hex;
    }
    if (std::string name = named_colour(small); !name.empty()) {
        return name;
    }
    const bool about_colours = small.find("background") != std::string::npos ||
                               small.find("colour") != std::string::npos ||
                               small.find("color") != std::string::npos;
    return about_colours ? "rebeccapurple" : "";
}

} // namespace agui::gateway
