#pragma once

#include "runner/tools/tool_registry.hpp"

#include <string>

namespace agui::runner {

/// The outcome of a webhook's answer, which is UTF-8: the text itself. If it is a JSON object with
/// effects (effects_member) in `_meta`, the outcome has them, and its content is the member
/// `result`, a text as it is, or without one the rest of the object. If it has a question
/// (question_member) there, the outcome is that of tool_outcome::ask().
[[nodiscard]] tool_outcome read_webhook_answer(std::string text);

} // namespace agui::runner
