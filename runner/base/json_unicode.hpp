#pragma once

#include <string>
#include <string_view>

namespace agui::runner {

/// Replaces the escape of each unpaired surrogate in a JSON text (`\ud83d` without its other half)
/// by `\ufffd`. Such an escape is valid JSON (RFC 8259, 8.2), which a program writes when it cuts a
/// text in two, but no parser can make UTF-8 of it. The length stays the same. True if there was
/// one.
bool replace_unpaired_surrogates(std::string& json) noexcept;

/// The JSON text with U+FFFD in place of everything that is not well-formed Unicode: bytes that are
/// not UTF-8, and the escapes of unpaired surrogates.
[[nodiscard]] std::string with_well_formed_text(std::string_view json);

} // namespace agui::runner
