#pragma once

#include "runner/base/model_provider.hpp"

namespace agui::runner {

/// True if a model server has refused a request for what its messages hold: 400, 413, 415 or 422.
/// Such a request fails again however often it is sent. False if the conversation is too long for
/// the model, which a shorter one mends.
[[nodiscard]] bool is_refusal(const model_failure& failed);

} // namespace agui::runner
