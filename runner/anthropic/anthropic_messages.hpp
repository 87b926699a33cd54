#pragma once

#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/base/tool_names.hpp"

#include <string>

namespace agui::runner {

/// Appends the members `system`, if there is any system text, and `messages`. `names` must be made
/// of the request's tools. `cache_mark` is the member with which the last blocks that later
/// requests repeat are marked, with a comma before it; empty if nothing is marked.
void append_conversation(
    std::string& out, const model_request& request, const anthropic_settings& settings,
    const tool_names& names, std::string_view cache_mark
);

} // namespace agui::runner
