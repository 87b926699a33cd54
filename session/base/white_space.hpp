#pragma once

#include <string_view>

namespace agui {

// White space is Unicode's property White_Space (PropList.txt), in UTF-8: model servers trim with
// the functions of their languages, which all know more than blanks and line ends.

/// True if the text is empty or holds only white space.
[[nodiscard]] bool is_blank(std::string_view text) noexcept;

/// The text without the white space at its ends.
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

} // namespace agui
