#pragma once

#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/base/added_tools.hpp"
#include "runner/base/tool_names.hpp"

#include <string>

namespace agui::runner {

/// Appends the members `system`, if there is any system text, and `messages`. `names` must be made
/// of the request's tools, and `tools` of the request. `cache_mark` is the member with which the
/// last blocks that later requests repeat are marked, with a comma before it; empty if nothing is
/// marked.
void append_conversation(
    std::string& out, const model_request& request, const anthropic_settings& settings,
    const tool_names& names, const added_tools& tools, std::string_view cache_mark
);

/// Appends the definition of a tool without the bracket that closes it.
void append_definition(
    std::string& out, const tool_definition& tool, const tool_names& names,
    const anthropic_settings& settings
);

} // namespace agui::runner
