#pragma once

#include "runner/base/tool_names.hpp"
#include "runner/responses/responses_chat.hpp"

#include <string>

namespace agui::runner {

/// Appends the value of the member `input`. `names` must be made of the request's tools.
void append_input(
    std::string& out, const model_request& request, const responses_settings& settings,
    const tool_names& names
);

} // namespace agui::runner
