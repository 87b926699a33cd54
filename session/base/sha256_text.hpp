#pragma once

#include <string>
#include <string_view>

namespace agui {

/// SHA-256 of some bytes as 64 characters of lower-case hexadecimal.
[[nodiscard]] std::string sha256_text(std::string_view bytes);

} // namespace agui
