#pragma once

#include "runner/openai/openai_chat.hpp"
#include "runner/provider/model_dialect.hpp"

#include <memory>

namespace agui::runner {

/// OpenAI Chat Completions (platform.openai.com/docs/api-reference/chat) as compatible servers
/// speak it: POST /chat/completions, answered with server-sent events. The endpoint adds the key.
[[nodiscard]] std::unique_ptr<model_dialect> make_openai_dialect(openai_settings settings);

} // namespace agui::runner
