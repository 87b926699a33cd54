#include "runner/tools/webhook_tool.hpp"

#include "runner/base/timeout.hpp"
#include "runner/base/utf8.hpp"
#include "runner/http/http_url.hpp"

#include <boost/json/serialize.hpp>
#include <boost/system/system_error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

struct webhook {
    std::shared_ptr<http_client> transport;
    std::string target;
    std::chrono::milliseconds timeout;
    std::size_t max_result_bytes;
};

/// `detail`: for the log, if the model is not told everything.
tool_outcome error_result(std::string text, std::string detail = {}) {
    if (detail.empty()) {
        detail = text;
    }
    return {
        .what = tool_outcome::kind::error,
        .content = std::move(text),
        .log_detail = std::move(detail)
    };
}

// What the model may know; addresses and details are for the operator only.
std::string_view describe(transport_failure::kind kind) noexcept {
    switch (kind) {
    case transport_failure::kind::connect:
    case transport_failure::kind::tls:
        return "The tool could not be reached.";
    case transport_failure::kind::timeout:
        return "The tool did not answer in time.";
    case transport_failure::kind::lost:
        return "The connection to the tool was lost before its answer was complete.";
    case transport_failure::kind::protocol:
        return "The tool's answer could not be read.";
    case transport_failure::kind::cancelled:
        return "The call was cancelled.";
    }
    return "The tool failed.";
}

tool_outcome error_of(const transport_failure& failed) {
    return error_result(
        std::string(describe(failed.what)),
        std::string(to_string(failed.what)) + ": " + failed.detail
    );
}

std::string write_body(const tool_invocation& call) {
    const boost::json::object body{{"name", call.name},          {"arguments", call.arguments},
                                   {"toolCallId", call.call_id}, {"threadId", call.thread_id},
                                   {"runId", call.run_id},       {"agentId", call.agent_id}};
    return boost::json::serialize(body);
}

asio::awaitable<tool_outcome> exchange(std::shared_ptr<const webhook> hook, std::string body) {
    transport_request request;
    request.target = hook->target;
    request.body = std::move(body);
    auto answered = co_await hook->transport->send(request);
    if (!answered) {
        co_return error_of(answered.error());
    }
    const std::unique_ptr<transport_response> response = std::move(*answered);
    if (response->status() < 200 || response->status() >= 300) {
        co_return error_result(
            "The tool answered with status " + std::to_string(response->status()) + "."
        );
    }
    std::string text;
    for (;;) {
        const transport_result<std::string_view> bytes = co_await response->read();
        if (!bytes) {
            co_return error_of(bytes.error());
        }
        if (bytes->empty()) {
            break;
        }
        if (bytes->size() > hook->max_result_bytes - text.size()) {
            co_return error_result(
                "The tool's answer is longer than " + std::to_string(hook->max_result_bytes) +
                " bytes."
            );
        }
        text.append(*bytes);
    }
    if (!is_utf8(text)) {
        co_return error_result("The tool's answer is not text in UTF-8.");
    }
    co_return tool_outcome{.what = tool_outcome::kind::result, .content = std::move(text)};
}

asio::awaitable<tool_outcome>
call(std::shared_ptr<const webhook> hook, tool_invocation invocation) {
    const auto deadline = std::chrono::steady_clock::now() + hook->timeout;
    std::optional<tool_outcome> outcome =
        co_await with_deadline(exchange(hook, write_body(invocation)), deadline);
    co_return outcome ? *std::move(outcome)
                      : error_result(std::string(describe(transport_failure::kind::timeout)));
}

} // namespace

result<tool_function> make_webhook_tool(webhook_settings settings) {
    const result<http_url> url = parse_http_url(settings.url);
    if (!url) {
        return url.error();
    }
    http_endpoint endpoint;
    endpoint.base_url = (url->tls ? "https://" : "http://") + url->authority;
    endpoint.headers = std::move(settings.headers);
    // The deadline of the whole call covers this.
    endpoint.connect_timeout = settings.timeout;
    endpoint.first_byte_timeout = settings.timeout;
    endpoint.idle_timeout = settings.timeout;
    // A tool that has been started is never started again: no request is sent a second time.
    endpoint.reuse_connections = false;
    result<std::shared_ptr<http_client>> transport = make_http_client(std::move(endpoint));
    if (!transport) {
        return transport.error();
    }
    auto hook = std::make_shared<webhook>();
    hook->transport = *std::move(transport);
    hook->target = (url->path.empty() ? "/" : url->path) + url->query;
    hook->timeout = settings.timeout;
    hook->max_result_bytes = settings.max_result_bytes;
    // Not a coroutine itself, so its captures need not outlive the call that it starts.
    return tool_function([hook = std::shared_ptr<const webhook>(std::move(hook))](
                             tool_invocation invocation
                         ) { return call(hook, std::move(invocation)); });
}

} // namespace agui::runner
