#pragma once

#include "runner/tools/tool_registry.hpp"
#include "session/base/error.hpp"

#include <string_view>

namespace agui::runner {

/// The name of the tool by which a model changes the state document (`agents[].state_tool`).
inline constexpr std::string_view state_tool_name = "update_state";

/// A tool by which the model patches the state document of its thread (RFC 6902). `schema`, the
/// text of a JSON Schema, is told to the model, and a change is refused, with the path, if the new
/// document does not fit it (argument_schema); empty allows any document. errc::invalid_input if
/// the schema cannot be used.
[[nodiscard]] result<server_tool> make_state_tool(std::string_view schema);

} // namespace agui::runner
