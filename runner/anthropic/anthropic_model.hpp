#pragma once

#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/provider/served_model.hpp"

namespace agui::runner {

/// `url` is that of the server without `/v1`, such as `https://api.anthropic.com`.
using anthropic_model_settings = served_model_settings<anthropic_settings>;

/// A model on a server that speaks Anthropic's Messages:
///
///     anthropic_model(
///         {.url = "https://api.anthropic.com", .model = "claude-opus-5-5", .key = key}
///     )
///
/// Throws std::invalid_argument if the URL or the settings cannot be used, or if the model is known
/// to refuse one of them (anthropic_refusals).
[[nodiscard]] owned_model anthropic_model(anthropic_model_settings settings);

} // namespace agui::runner
