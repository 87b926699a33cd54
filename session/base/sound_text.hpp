#pragma once

#include <string>
#include <string_view>

namespace agui {

/// UTF-8 `text` without the characters that unsound_character() finds, except those (ASCII) in
/// `kept`. For names and descriptions that others write and people read.
[[nodiscard]] std::string sound_text(std::string_view text, std::string_view kept = {});

} // namespace agui
