#pragma once

#include "runner/base/model_provider.hpp"

namespace agui::runner {

/// True if a model server refused a request because of its messages: 400, 413, 415 or 422. Such a
/// request fails again however often it is sent. False if the conversation is too long for the
/// model, since a shorter one would help.
[[nodiscard]] bool is_refusal(const model_failure& failed);

} // namespace agui::runner
