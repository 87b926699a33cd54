#include "runner/base/json_escapes.hpp"

#include "runner/base/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace agui::runner {

namespace {

constexpr std::size_t escape_bytes = 6; // \uXXXX
constexpr std::string_view replacement = "\\ufffd";

/// True if more text may turn it into an escape.
bool may_become_escape(std::string_view text) noexcept {
    if (text.size() >= escape_bytes || (text.size() > 1 && text[1] != 'u')) {
        return false;
    }
    return text.empty() ||
           (text[0] == '\\' &&
            text.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos);
}

/// Number of bytes at the start of a text, which begins with a backslash, that belong together; 0
/// if that depends on later bytes.
std::size_t unit_length(std::string_view text) noexcept {
    const std::optional<unsigned> unit = escape_at(text, 0);
    if (!unit) {
        // The second backslash of a pair does not start an escape.
        return may_become_escape(text) ? 0 : std::min<std::size_t>(text.size(), 2);
    }
    if (!is_high_surrogate(*unit)) {
        return escape_bytes;
    }
    const std::string_view rest = text.substr(escape_bytes);
    const std::optional<unsigned> next = escape_at(rest, 0);
    if (next && is_low_surrogate(*next)) {
        return 2 * escape_bytes;
    }
    return may_become_escape(rest) ? 0 : escape_bytes;
}

} // namespace

std::optional<unsigned> escape_at(std::string_view text, std::size_t at) noexcept {
    if (text.size() < escape_bytes || at > text.size() - escape_bytes || text[at] != '\\' ||
        text[at + 1] != 'u') {
        return std::nullopt;
    }
    unsigned number = 0;
    const char* const end = text.data() + at + escape_bytes;
    const auto read = std::from_chars(text.data() + at + 2, end, number, 16);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

std::string_view escape_mender::mend(std::string_view piece, std::string& out) {
    if (held_.empty() && piece.find("\\u") == std::string_view::npos && !piece.ends_with('\\')) {
        return piece;
    }
    const std::string joined = std::exchange(held_, {}).append(piece);
    piece = joined;
    out.clear();
    while (!piece.empty()) {
        const std::size_t plain = std::min(piece.find('\\'), piece.size());
        out.append(piece.substr(0, plain));
        piece.remove_prefix(plain);
        const std::size_t length = piece.empty() ? 0 : unit_length(piece);
        if (length == 0) {
            held_ = piece;
            break;
        }
        const std::optional<unsigned> unit = escape_at(piece, 0);
        const bool alone =
            length == escape_bytes && unit && (is_high_surrogate(*unit) || is_low_surrogate(*unit));
        out.append(alone ? replacement : piece.substr(0, length));
        piece.remove_prefix(length);
    }
    return out;
}

std::string escape_mender::finish() {
    const std::optional<unsigned> unit = escape_at(held_, 0);
    if (unit && is_high_surrogate(*unit)) {
        held_.replace(0, escape_bytes, replacement);
    }
    return std::exchange(held_, {});
}

bool replace_unpaired_surrogates(std::string& json) noexcept {
    bool found = false;
    for (std::size_t at = json.find('\\'); at != std::string::npos; at = json.find('\\', at)) {
        const std::optional<unsigned> unit = escape_at(json, at);
        if (!unit) {
            at += 2; // The second backslash of `\\` does not start an escape.
            continue;
        }
        const std::optional<unsigned> next = escape_at(json, at + escape_bytes);
        if (is_high_surrogate(*unit) && next && is_low_surrogate(*next)) {
            at += 2 * escape_bytes;
            continue;
        }
        if (is_high_surrogate(*unit) || is_low_surrogate(*unit)) {
            json.replace(at, escape_bytes, replacement);
            found = true;
        }
        at += escape_bytes;
    }
    return found;
}

std::string with_well_formed_text(std::string_view json) {
    std::string text = to_utf8(json);
    replace_unpaired_surrogates(text);
    return text;
}

} // namespace agui::runner
