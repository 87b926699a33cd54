#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

// The `\uXXXX` escapes of JSON text. Two of them, a high and a low surrogate, are one character
// (RFC 8259, 7); parsers refuse one without the other.

/// The number of the `\uXXXX` escape at `at`; nullopt if there is none.
[[nodiscard]] std::optional<unsigned> escape_at(std::string_view text, std::size_t at) noexcept;

[[nodiscard]] constexpr bool is_high_surrogate(unsigned unit) noexcept {
    return unit >= 0xD800 && unit < 0xDC00;
}
[[nodiscard]] constexpr bool is_low_surrogate(unsigned unit) noexcept {
    return unit >= 0xDC00 && unit < 0xE000;
}

/// Replaces the escapes of unpaired surrogates in JSON text that arrives in pieces by that of
/// U+FFFD. Everything else stays as it is.
class escape_mender {
public:
    /// Returns the part of the text that is decided: `piece` itself, or a text in `out`, which is
    /// overwritten. The begin of an escape, and a high surrogate at the end of `piece`, are held
    /// back: at most eleven bytes.
    [[nodiscard]] std::string_view mend(std::string_view piece, std::string& out);

    /// The text has ended: returns what is held back.
    [[nodiscard]] std::string finish();

private:
    std::string held_;
};

/// Does the same in a whole JSON text: the length stays the same. True if there was one. Such an
/// escape is valid JSON (RFC 8259, 8.2), which a program writes when it cuts a text in two, but no
/// parser can make UTF-8 of it.
bool replace_unpaired_surrogates(std::string& json) noexcept;

/// The JSON text with U+FFFD in place of everything that is not well-formed Unicode: bytes that are
/// not UTF-8, and the escapes of unpaired surrogates.
[[nodiscard]] std::string with_well_formed_text(std::string_view json);

} // namespace agui::runner
