#pragma once

#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace externaltool {

/// The tool that this client offers and executes: name, description and parameters as `tools` holds
/// them.
[[nodiscard]] boost::json::object background_tool();

/// The colour that the arguments name, as `blue` or `#0000ff`. The arguments are a model's words:
/// what is not an object with a string `color` of an allowed form (a name, #rgb, #rrggbb, rgb(r, g,
/// b)) throws std::invalid_argument, whose text is meant for the model.
[[nodiscard]] std::string checked_color(std::string_view arguments);

/// Executes the tool: the terminal gets the background, or a line is printed where stdout is not
/// one; `file`, if given, is overwritten with the colour. Throws std::runtime_error if it cannot
/// be.
void change_background(const std::string& color, const std::optional<std::string>& file);

} // namespace externaltool
