#include "runner/base/json_unicode.hpp"

#include "runner/base/utf8.hpp"

#include <charconv>
#include <cstddef>
#include <optional>

namespace agui::runner {

namespace {

constexpr std::size_t escape_length = 6; // \uXXXX

/// The number of a `\uXXXX` escape at `at`; nullopt if there is none.
std::optional<unsigned> escape_at(std::string_view text, std::size_t at) noexcept {
    if (text.size() < escape_length || at > text.size() - escape_length || text[at] != '\\' ||
        text[at + 1] != 'u') {
        return std::nullopt;
    }
    const char* const end = text.data() + at + escape_length;
    unsigned number = 0;
    const auto [stop, ec] = std::from_chars(text.data() + at + 2, end, number, 16);
    return ec == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

bool is_high(unsigned unit) noexcept { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned unit) noexcept { return unit >= 0xDC00 && unit < 0xE000; }

} // namespace

bool replace_unpaired_surrogates(std::string& json) noexcept {
    bool found = false;
    for (std::size_t at = json.find('\\'); at != std::string::npos; at = json.find('\\', at)) {
        const std::optional<unsigned> unit = escape_at(json, at);
        if (!unit) {
            at += 2; // The second backslash of `\\` begins no escape.
            continue;
        }
        const std::optional<unsigned> next = escape_at(json, at + escape_length);
        if (is_high(*unit) && next && is_low(*next)) {
            at += 2 * escape_length;
            continue;
        }
        if (is_high(*unit) || is_low(*unit)) {
            json.replace(at, escape_length, "\\ufffd");
            found = true;
        }
        at += escape_length;
    }
    return found;
}

std::string with_well_formed_text(std::string_view json) {
    std::string text = to_utf8(json);
    replace_unpaired_surrogates(text);
    return text;
}

} // namespace agui::runner
