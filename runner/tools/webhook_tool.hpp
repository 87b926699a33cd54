#pragma once

#include "runner/http/http_transport.hpp"
#include "runner/tools/caller_credentials.hpp"
#include "runner/tools/tool_registry.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// W3C Trace Context header, which is always passed on.
inline constexpr std::string_view trace_header = "traceparent";

/// `[[tools.webhook]]` of the configuration.
struct webhook_settings {
    std::string url;
    http_method method = http_method::post; ///< For get, the arguments become the query.
    /// Sent with each call. With `callers`, one with the name of callers.header is left out.
    std::vector<std::pair<std::string, std::string>> headers;
    caller_credentials callers = {};
    /// Headers of the run's request to be sent along with trace_header, by name in lower case.
    /// Names that are in `headers` are skipped.
    std::vector<std::string> pass_headers;
    bool idempotent = false; ///< A call may be sent again even if it may have been executed.
    std::chrono::milliseconds timeout{30'000}; ///< For the whole call, including its attempts.
    /// Pause before the second attempt; doubled before the third. An answer's Retry-After takes
    /// precedence.
    std::chrono::milliseconds retry_pause{250};
    /// Slightly more is read of a longer answer; the code that stores the result cuts it.
    std::size_t max_result_bytes = 1U << 20U;
    memory_budget* budget = nullptr; ///< Counts the answer while it is read; may be null.
};

/// A tool at a URL. Its result is the answer's body, unless that is a JSON object with effects or a
/// question in `_meta` (read_webhook_answer()). Any status but 2xx, a timeout or a lost connection
/// gives an error result that names the problem but not the URL. If no connection can be made, the
/// tool is `unavailable`.
///
/// POST sends `{name, arguments, toolCallId, threadId, runId, agentId, principal, inputs}`, the
/// last two only if there are any. GET appends the arguments to the query, texts unchanged and
/// other values as JSON, and sends the ids in headers: `X-Agui-Tool-Call-Id`, `-Thread-Id`,
/// `-Run-Id`, `-Agent-Id`,
/// `-Principal` and `-Inputs` (JSON), where bytes that a header cannot hold are percent-encoded.
///
/// A GET, or a call that is idempotent, is sent up to twice more if the connection failed and after
/// 429, 502, 503 and 504, unless Retry-After asks for more than 10 seconds. It has the header
/// Idempotency-Key: `principal/thread/call` (call ids are unique in a thread only), the principal
/// only if there is one, and for a call with inputs `//` and their number, since that is not the
/// same call.
///
/// errc::invalid_input if the URL cannot be used.
[[nodiscard]] result<tool_function> make_webhook_tool(webhook_settings settings);

} // namespace agui::runner
