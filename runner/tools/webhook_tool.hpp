#pragma once

#include "runner/http/http_transport.hpp"
#include "runner/tools/tool_registry.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::runner {

/// W3C Trace Context: always passed on.
inline constexpr std::string_view trace_header = "traceparent";

/// `[[tools.webhook]]` of the configuration.
struct webhook_settings {
    std::string url;
    http_method method = http_method::post; ///< Or get: the arguments are the query then.
    std::vector<std::pair<std::string, std::string>> headers;
    /// Names, in lower case, of the headers of the run's request that are sent along, besides
    /// trace_header. One that is in `headers` is not.
    std::vector<std::string> pass_headers;
    bool idempotent = false; ///< A call may be sent again although it may have been executed.
    std::chrono::milliseconds timeout{30'000}; ///< For the whole call, with its attempts.
    /// Before the second attempt; twice that before the third. An answer's Retry-After counts more.
    std::chrono::milliseconds retry_pause{250};
    /// Of a longer answer only a little more is read: whoever stores it cuts it.
    std::size_t max_result_bytes = 1U << 20U;
    memory_budget* budget = nullptr; ///< Counts the answer while it is read; null: nothing does.
};

/// A tool at a URL. Its result is the answer's body; any status but 2xx, a timeout and a lost
/// connection give error results that name the problem but not the URL. A tool that could not be
/// connected to is `unavailable`.
///
/// POST sends `{name, arguments, toolCallId, threadId, runId, agentId, principal}`, the last only
/// if there is one. GET appends the arguments to the query, texts as they are and other values as
/// JSON, and has the ids in headers: `X-Agui-Tool-Call-Id`, `-Thread-Id`, `-Run-Id`, `-Agent-Id`
/// and
/// `-Principal`, bytes that a header cannot have percent-encoded.
///
/// A GET, and a call that is idempotent, is sent up to twice more after a connection that failed,
/// and after 429, 502, 503 and 504, unless Retry-After asks for more than 10 seconds. It has the
/// header Idempotency-Key: principal, thread and call id, since call ids are unique in a thread
/// only.
///
/// errc::invalid_input if the URL is not usable.
[[nodiscard]] result<tool_function> make_webhook_tool(webhook_settings settings);

} // namespace agui::runner
