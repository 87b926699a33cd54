#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

// The `\uXXXX` escapes of JSON text. Two of them, a high and a low surrogate, are one character
// (RFC 8259, 7); parsers refuse one without the other.

/// The code unit of the `\uXXXX` escape at `at`; nullopt if there is none.
[[nodiscard]] std::optional<unsigned> escape_at(std::string_view text, std::size_t at) noexcept;

[[nodiscard]] constexpr bool is_high_surrogate(unsigned unit) noexcept {
    return unit >= 0xD800 && unit < 0xDC00;
}
[[nodiscard]] constexpr bool is_low_surrogate(unsigned unit) noexcept {
    return unit >= 0xDC00 && unit < 0xE000;
}

/// Replaces each escape of an unpaired surrogate by the escape of U+FFFD in JSON text that arrives
/// in pieces. Everything else stays as it is.
class escape_mender {
public:
    /// Returns the text that is complete: `piece` itself, or a view of `out`, which is overwritten.
    /// The start of an escape and a high surrogate at the end of `piece` are held back, at most
    /// eleven bytes.
    [[nodiscard]] std::string_view mend(std::string_view piece, std::string& out);

    /// Ends the text and returns the bytes held back.
    [[nodiscard]] std::string finish();

private:
    std::string held_;
};

/// Replaces the escapes of unpaired surrogates in a whole JSON text, whose length stays the same.
/// Returns true if there were any. Such an escape is valid JSON (RFC 8259, 8.2), which programs
/// write when they cut a text in two, but no parser can turn it into UTF-8.
bool replace_unpaired_surrogates(std::string& json) noexcept;

/// The JSON text with U+FFFD in place of everything that is not well-formed Unicode: bytes that are
/// not UTF-8, and the escapes of unpaired surrogates.
[[nodiscard]] std::string with_well_formed_text(std::string_view json);

} // namespace agui::runner
