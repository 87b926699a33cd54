#pragma once

#include "runner/anthropic/anthropic_chat.hpp"
#include "runner/provider/model_dialect.hpp"

#include <memory>

namespace agui::runner {

/// Anthropic's Messages (platform.claude.com/docs/en/api/messages), also as other servers imitate
/// it: POST /v1/messages, answered with server-sent events. The endpoint adds the key.
[[nodiscard]] std::unique_ptr<model_dialect> make_anthropic_dialect(anthropic_settings settings);

} // namespace agui::runner
