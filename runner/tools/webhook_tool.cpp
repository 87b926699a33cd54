#include "runner/tools/webhook_tool.hpp"

#include "runner/base/timeout.hpp"
#include "runner/base/utf8.hpp"
#include "runner/http/http_url.hpp"
#include "runner/tools/webhook_answer.hpp"
#include "session/base/ascii.hpp"
#include "session/base/contains.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr int max_attempts = 3;
constexpr std::chrono::seconds longest_pause{10};

struct webhook {
    std::shared_ptr<http_client> transport;
    std::string target;
    webhook_settings settings;
};

/// `detail` is for the log if the model must not get everything.
tool_outcome webhook_error(std::string text, std::string detail = {}) {
    if (detail.empty()) {
        detail = text;
    }
    return {
        .what = tool_outcome::kind::error,
        .content = std::move(text),
        .log_detail = std::move(detail)
    };
}

// The text for the model. Addresses and details are for the operator only.
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
    case transport_failure::kind::redirect:
        return "The tool answered with a redirect that is not followed.";
    case transport_failure::kind::memory:
        return "The server has not enough memory for the tool's answer.";
    case transport_failure::kind::cancelled:
        return "The call was cancelled.";
    }
    return "The tool failed.";
}

// The received text with spare capacity, and its copy as UTF-8.
constexpr std::size_t copies_of_answer = 3;

// The end of one attempt.
struct attempt {
    tool_outcome outcome;
    bool may_help = false; ///< Another attempt may help.
    std::optional<std::chrono::seconds> pause = {};
};

attempt attempt_of(const transport_failure& failed) {
    attempt made{webhook_error(
        std::string(describe(failed.what)),
        std::string(to_string(failed.what)) + ": " + failed.detail
    )};
    const bool not_begun = failed.what == transport_failure::kind::connect ||
                           failed.what == transport_failure::kind::tls;
    if (not_begun) {
        made.outcome.what = tool_outcome::kind::unavailable;
    }
    made.may_help = not_begun || failed.what == transport_failure::kind::lost;
    return made;
}

/// Retry-After (RFC 9110, 10.2.3) if it is a number of seconds.
std::optional<std::chrono::seconds> retry_after_of(const transport_response& response) {
    const std::string_view text = response.header("retry-after");
    std::uint32_t seconds = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
        return std::nullopt;
    }
    return std::chrono::seconds(seconds);
}

attempt attempt_of(const transport_response& response) {
    const int status = response.status();
    return {
        webhook_error("The tool answered with status " + std::to_string(status) + "."),
        status == 429 || status == 502 || status == 503 || status == 504, retry_after_of(response)
    };
}

// Moves the arguments out, which may be large.
std::string write_body(tool_invocation& call) {
    boost::json::object body;
    body.emplace("name", call.name);
    body.emplace("arguments", std::move(call.arguments));
    body.emplace("toolCallId", call.call_id);
    body.emplace("threadId", call.thread_id);
    body.emplace("runId", call.run_id);
    body.emplace("agentId", call.agent_id);
    if (!call.principal.empty()) {
        body["principal"] = call.principal;
    }
    if (!call.inputs.empty()) {
        body["inputs"] = boost::json::array(call.inputs.begin(), call.inputs.end());
    }
    return boost::json::serialize(body);
}

template <class Predicate>
std::string percent_encoded(std::string_view text, Predicate stays) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string result;
    for (const char c : text) {
        if (stays(c)) {
            result += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        result += '%';
        result += digits[byte >> 4U];
        result += digits[byte & 15U];
    }
    return result;
}

std::string as_query(std::string_view text) {
    return percent_encoded(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_' || c == '~';
    });
}

std::string as_header(std::string_view text) {
    return percent_encoded(text, [](char c) { return c > ' ' && c <= '~' && c != '%'; });
}

// Neither a slash nor an escape in an id makes the key of another call.
std::string as_key_part(std::string_view id) {
    return percent_encoded(id, [](char c) { return c > ' ' && c <= '~' && c != '%' && c != '/'; });
}

std::string write_target(const webhook& hook, const tool_invocation& call) {
    std::string target = hook.target;
    char separator = target.find('?') == std::string::npos ? '?' : '&';
    for (const auto& member : call.arguments) {
        const auto* text = member.value().if_string();
        target += std::exchange(separator, '&') + as_query(member.key()) + "=";
        target +=
            text != nullptr ? as_query(*text) : as_query(boost::json::serialize(member.value()));
    }
    return target;
}

bool is_in(std::string_view name, const std::vector<std::pair<std::string, std::string>>& headers) {
    return std::ranges::any_of(headers, [name](const auto& each) {
        return equal_ignoring_case(each.first, name);
    });
}

bool may_repeat(const webhook_settings& settings) noexcept {
    return settings.idempotent || settings.method == http_method::get;
}

// Moves the arguments out.
transport_request write_request(const webhook& hook, tool_invocation& call) {
    const webhook_settings& settings = hook.settings;
    transport_request request;
    request.method = settings.method;
    request.target = hook.target;
    const std::size_t inputs = call.inputs.size();
    if (settings.method == http_method::get) {
        request.target = write_target(hook, call);
        request.headers = {
            {"X-Agui-Tool-Call-Id", as_header(call.call_id)},
            {"X-Agui-Thread-Id", as_header(call.thread_id)},
            {"X-Agui-Run-Id", as_header(call.run_id)},
            {"X-Agui-Agent-Id", as_header(call.agent_id)}
        };
        if (!call.principal.empty()) {
            request.headers.emplace_back("X-Agui-Principal", as_header(call.principal));
        }
        if (!call.inputs.empty()) {
            const boost::json::array answers(call.inputs.begin(), call.inputs.end());
            request.headers.emplace_back(
                "X-Agui-Inputs", as_header(boost::json::serialize(answers))
            );
        }
    } else {
        request.body = write_body(call);
    }
    if (may_repeat(settings)) {
        const std::string owner = call.principal.empty() ? "" : as_key_part(call.principal) + "/";
        const std::string round = inputs == 0 ? "" : "//" + std::to_string(inputs);
        request.headers.emplace_back(
            "Idempotency-Key",
            owner + as_key_part(call.thread_id) + "/" + as_key_part(call.call_id) + round
        );
    }
    for (const auto& [name, value] : call.headers) {
        const bool wanted = name == trace_header || contains(settings.pass_headers, name);
        const bool is_of_caller =
            settings.callers.are_required() && equal_ignoring_case(name, settings.callers.header);
        if (wanted && !is_of_caller && !is_in(name, settings.headers)) {
            request.headers.emplace_back(name, value);
        }
    }
    return request;
}

// A text that is too long keeps a few bytes above the limit, so that the code that stores it sees
// that.
asio::awaitable<attempt> exchange(const webhook& hook, const transport_request& request) {
    auto answered = co_await hook.transport->send(request);
    if (!answered) {
        co_return attempt_of(answered.error());
    }
    const std::unique_ptr<transport_response> response = std::move(*answered);
    if (response->status() < 200 || response->status() >= 300) {
        co_return attempt_of(*response);
    }
    const std::size_t kept = hook.settings.max_result_bytes + 4;
    std::string text;
    while (text.size() <= kept) {
        const transport_result<std::string_view> bytes = co_await response->read();
        if (!bytes) {
            co_return attempt_of(bytes.error());
        }
        if (bytes->empty()) {
            break;
        }
        text.append(bytes->substr(0, kept + 1 - text.size()));
        if (!response->keep(copies_of_answer * text.size())) {
            co_return attempt_of(no_memory());
        }
    }
    text = to_utf8(text);
    text.resize(utf8_head(text, kept).size());
    co_return attempt{read_webhook_answer(std::move(text))};
}

asio::awaitable<tool_outcome>
attempts(std::shared_ptr<const webhook> hook, transport_request request) {
    bool begun = false;
    for (int number = 1;; ++number) {
        attempt made = co_await exchange(*hook, request);
        begun = begun || made.outcome.what != tool_outcome::kind::unavailable;
        const auto pause = made.pause ? std::chrono::milliseconds(*made.pause)
                                      : hook->settings.retry_pause * number;
        if (!made.may_help || !may_repeat(hook->settings) || number == max_attempts ||
            pause > longest_pause) {
            if (begun && made.outcome.what == tool_outcome::kind::unavailable) {
                made.outcome.what = tool_outcome::kind::error;
            }
            co_return std::move(made.outcome);
        }
        asio::steady_timer timer(co_await asio::this_coro::executor, pause);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

asio::awaitable<tool_outcome>
call(std::shared_ptr<const webhook> hook, tool_invocation invocation) {
    transport_request request = write_request(*hook, invocation);
    if (hook->settings.callers.are_required()) {
        auto credentials = hook->settings.callers.of(invocation);
        if (!credentials) {
            co_return missing_credentials();
        }
        request.headers.push_back(*std::move(credentials));
    }
    const auto deadline = std::chrono::steady_clock::now() + hook->settings.timeout;
    std::optional<tool_outcome> outcome =
        co_await with_deadline(attempts(hook, std::move(request)), deadline);
    co_return outcome ? *std::move(outcome)
                      : webhook_error(std::string(describe(transport_failure::kind::timeout)));
}

} // namespace

result<tool_function> make_webhook_tool(webhook_settings settings) {
    const result<http_url> url = parse_http_url(settings.url);
    if (!url) {
        return url.error();
    }
    if (settings.callers.are_required()) {
        std::erase_if(settings.headers, [&settings](const auto& each) {
            return equal_ignoring_case(each.first, settings.callers.header);
        });
    }
    http_endpoint endpoint;
    endpoint.base_url = (url->tls ? "https://" : "http://") + url->authority;
    endpoint.headers = settings.headers;
    // The deadline of the whole call covers this.
    endpoint.connect_timeout = settings.timeout;
    endpoint.first_byte_timeout = settings.timeout;
    endpoint.idle_timeout = settings.timeout;
    // The transport sends no request twice: a started tool is never started again unless it is
    // marked idempotent.
    endpoint.reuse_connections = false;
    endpoint.budget = settings.budget;
    result<std::shared_ptr<http_client>> transport = make_http_client(std::move(endpoint));
    if (!transport) {
        return transport.error();
    }
    auto hook = std::make_shared<webhook>();
    hook->transport = *std::move(transport);
    hook->target = (url->path.empty() ? "/" : url->path) + url->query;
    hook->settings = std::move(settings);
    // Not a coroutine itself, so its captures need not outlive the call that it starts.
    return tool_function([hook = std::shared_ptr<const webhook>(std::move(hook))](
                             tool_invocation invocation
                         ) { return call(hook, std::move(invocation)); });
}

} // namespace agui::runner
