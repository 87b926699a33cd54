#pragma once

#include "runner/provider/served_model.hpp"
#include "runner/responses/responses_chat.hpp"

namespace agui::runner {

/// `url` is that of the API, such as `https://api.openai.com/v1`.
using responses_model_settings = served_model_settings<responses_settings>;

/// A model on a server that speaks OpenAI's Responses:
///
///     responses_model({.url = "https://api.openai.com/v1", .model = "gpt-5.6", .key = key})
///
/// Throws std::invalid_argument if the URL or the settings cannot be used.
[[nodiscard]] owned_model responses_model(responses_model_settings settings);

} // namespace agui::runner
