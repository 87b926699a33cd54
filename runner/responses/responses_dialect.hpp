#pragma once

#include "runner/provider/model_dialect.hpp"
#include "runner/responses/responses_chat.hpp"

#include <memory>

namespace agui::runner {

/// OpenAI Responses (platform.openai.com/docs/api-reference/responses), also as other servers
/// imitate it: POST /responses, answered with server-sent events. The endpoint adds the key.
[[nodiscard]] std::unique_ptr<model_dialect> make_responses_dialect(responses_settings settings);

} // namespace agui::runner
