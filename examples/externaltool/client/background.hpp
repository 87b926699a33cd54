#pragma once

#include <boost/json/object.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace externaltool {

/// The tool that this client offers and executes: name, description and parameters, in the form of
/// an element of `tools`.
[[nodiscard]] boost::json::object background_tool();

/// The color in the arguments, as `blue` or `#0000ff`. The arguments come from a model: unless they
/// are an object with a string `color` of an allowed form (a name, #rgb, #rrggbb, rgb(r, g, b)),
/// throws std::invalid_argument, whose text is meant for the model.
[[nodiscard]] std::string checked_color(std::string_view arguments);

/// Executes the tool: changes the terminal's background, or prints a line if stdout is not a
/// terminal. `file`, if given, is overwritten with the color. Throws std::runtime_error if that
/// fails.
void change_background(const std::string& color, const std::optional<std::string>& file);

} // namespace externaltool
