#pragma once

#include "runner/base/model_provider.hpp"
#include "runner/http/model_transport.hpp"
#include "runner/openai/openai_chat.hpp"

#include <memory>

namespace agui::runner {

/// OpenAI Chat Completions over a transport. Status codes become model_failure kinds: 408, 429 and
/// 5xx unavailable, other 4xx rejected. An upstream's error body reaches the failure's `upstream`
/// (for the log), at most 2 KiB of it. Comments and signs of life do not count against the
/// transport's idle time. After the finish_reason the answer ends with usage, `[DONE]`, the body or
/// settings.end_wait, whichever is first; only a body that was read to its end leaves its
/// connection to the next request.
[[nodiscard]] std::unique_ptr<model_provider>
make_openai_provider(std::shared_ptr<model_transport> transport, openai_settings settings);

} // namespace agui::runner
