#pragma once

#include "runner/http/http_transport.hpp"
#include "runner/tools/tool_registry.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

/// `[[tools.webhook]]` of the configuration.
struct webhook_settings {
    std::string url;
    std::vector<std::pair<std::string, std::string>> headers;
    std::chrono::milliseconds timeout{30'000}; ///< For the whole call.
    std::size_t max_result_bytes = 1U << 20U;  ///< A longer answer is an error result.
};

/// A tool that sends `{name, arguments, toolCallId, threadId, runId, agentId}` by POST; its result
/// is the body of the answer. Any status but 2xx, a timeout or a lost connection gives an error
/// result, which names the problem but not the URL. No call is sent twice. errc::invalid_input: the
/// URL or a header is not usable.
[[nodiscard]] result<tool_function> make_webhook_tool(webhook_settings settings);

} // namespace agui::runner
