#pragma once

#include "runner/openai/openai_chat.hpp"
#include "runner/provider/served_model.hpp"

namespace agui::runner {

/// `url` is that of the API, such as `https://api.openai.com/v1`.
using openai_model_settings = served_model_settings<openai_settings>;

/// A model on a server that speaks OpenAI's Chat Completions:
///
///     openai_model({.url = "https://api.openai.com/v1", .model = "gpt-5.5", .key = key})
///
/// Throws std::invalid_argument if the URL or the settings cannot be used.
[[nodiscard]] owned_model openai_model(openai_model_settings settings);

} // namespace agui::runner
