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

/// A tool that POSTs `{name, arguments, toolCallId, threadId, runId, agentId}` and whose result is
/// the answer's body; any status but 2xx, a timeout and a lost connection give error results that
/// name the problem but not the URL. errc::invalid_input if the URL is not usable.
[[nodiscard]] result<tool_function> make_webhook_tool(webhook_settings settings);

} // namespace agui::runner
