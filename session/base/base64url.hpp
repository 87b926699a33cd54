#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agui {

/// Bytes in base64url without padding (RFC 7515, 2).
[[nodiscard]] std::string encode_base64url(std::string_view bytes);

/// The bytes; nullopt for any other character, padding, an impossible length, and bits that no
/// encoder leaves behind: no two texts have the same bytes.
[[nodiscard]] std::optional<std::string> decode_base64url(std::string_view text);

} // namespace agui
