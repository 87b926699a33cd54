#pragma once

#include <string>
#include <string_view>

namespace agui::gateway {

/// The color that a text asks the model of `--demo` for, as CSS. Empty if the text does not mention
/// colors.
[[nodiscard]] std::string wanted_colour(std::string_view text);

} // namespace agui::gateway
