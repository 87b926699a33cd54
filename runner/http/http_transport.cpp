#include "runner/http/http_transport.hpp"

#include "runner/base/secret_cutter.hpp"
#include "runner/http/http_connection.hpp"
#include "runner/http/http_exchange.hpp"
#include "runner/http/http_origin.hpp"
#include "runner/http/http_redirect.hpp"
#include "session/base/ascii.hpp"
#include "session/base/mutex.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

// Length of a log line that names a Location.
constexpr std::size_t redirect_detail_bytes_max = 400;

// Shorter path segments are words, such as "completions"; longer ones may be keys.
constexpr std::size_t key_in_path_bytes_min = 20;

bool usable_target(std::string_view target) noexcept {
    return std::all_of(target.begin(), target.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte > 0x20 && byte < 0x7f && c != '#';
    });
}

std::string_view to_string(http_method method) noexcept {
    switch (method) {
    case http_method::get:
        return "GET";
    case http_method::post:
        return "POST";
    case http_method::put:
        return "PUT";
    case http_method::patch:
        return "PATCH";
    case http_method::delete_:
        return "DELETE";
    }
    return "POST";
}

class http_transport final : public http_client {
public:
    explicit http_transport(std::shared_ptr<http_origin> origin) : origin_(std::move(origin)) {}

    [[nodiscard]] asio::awaitable<transport_result<std::unique_ptr<transport_response>>>
    send(const transport_request& request) override {
        try {
            co_return co_await exchange(request);
        } catch (const boost::system::system_error& error) {
            // Awaits throw this after the coroutine was cancelled.
            if (error.code() != asio::error::operation_aborted) {
                throw;
            }
        }
        co_return transport_failure{
            .what = transport_failure::kind::cancelled, .detail = "cancelled"
        };
    }

private:
    using outcome = transport_result<std::unique_ptr<transport_response>>;

    [[nodiscard]] asio::awaitable<outcome> exchange(const transport_request& request);
    [[nodiscard]] static asio::awaitable<outcome> exchange_once(
        std::shared_ptr<http_origin> origin, std::string_view target,
        const transport_request& request
    );
    [[nodiscard]] static outcome checked(std::unique_ptr<http_exchange> exchange);
    [[nodiscard]] std::string first_target(const transport_request& request) const;
    [[nodiscard]] result<std::shared_ptr<http_origin>> secured(http_url url);

    std::shared_ptr<http_origin> origin_;
    mutex mutex_;
    /// The same host by https, set after a redirect to it.
    std::shared_ptr<http_origin> secured_ AGUI_GUARDED_BY(mutex_);
};

http_url url_of(const http_origin& origin, std::string_view target) {
    const std::size_t query = std::min(target.find('?'), target.size());
    http_url url = origin.url;
    url.path = target.substr(0, query);
    url.query = target.substr(query);
    return url;
}

/// Cuts out keys of the request that a Location may repeat.
transport_failure without_secrets(
    transport_failure failed, const http_endpoint& settings, const transport_request& request,
    const http_url& from
) {
    std::vector<std::string> secrets;
    for (const auto* headers : {&settings.headers, &request.headers}) {
        for (const auto& [name, value] : *headers) {
            const std::string lower = to_lower(name);
            if (!lower.starts_with("accept") && lower != "user-agent") {
                secrets.push_back(value);
            }
        }
    }
    for (std::size_t at = 0; at < from.path.size();) {
        const std::size_t end = std::min(from.path.find('/', at), from.path.size());
        if (end - at >= key_in_path_bytes_min) {
            secrets.push_back(from.path.substr(at, end - at));
        }
        at = end + 1;
    }
    failed.detail = secret_cutter(secrets).cut(failed.detail, redirect_detail_bytes_max);
    return failed;
}

/// The head of a request; empty if it cannot be sent.
std::string
write_head(const http_origin& origin, std::string_view target, const transport_request& request) {
    std::string head;
    if (!usable_target(target)) {
        return head;
    }
    head.reserve(origin.fixed_headers.size() + target.size() + 256);
    head.append(to_string(request.method)).append(" ").append(target).append(" HTTP/1.1\r\n");
    head.append(origin.fixed_headers);
    for (const auto& [name, value] : request.headers) {
        if (!usable_header(name, value)) {
            return {};
        }
        // Configured headers take precedence.
        const auto& fixed = origin.settings.headers;
        const bool given = std::any_of(fixed.begin(), fixed.end(), [&name](const auto& each) {
            return equal_ignoring_case(each.first, name);
        });
        if (!given) {
            append_header(head, name, value);
        }
    }
    const bool may_be_empty =
        request.method == http_method::get || request.method == http_method::delete_;
    if (!request.body.empty() || !may_be_empty) {
        append_header(head, "Content-Type", "application/json");
        append_header(head, "Content-Length", std::to_string(request.body.size()));
    }
    head.append("\r\n");
    return head;
}

asio::awaitable<http_transport::outcome> http_transport::exchange(const transport_request& request
) {
    std::shared_ptr<http_origin> origin = origin_;
    std::string target = first_target(request);
    for (int followed = 0;; ++followed) {
        outcome answered = co_await exchange_once(origin, target, request);
        if (!answered || !is_redirect((*answered)->status()) ||
            (*answered)->header("location").empty()) {
            co_return answered;
        }
        const http_url from = url_of(*origin, target);
        const redirect answer{
            .status = (*answered)->status(),
            .method = request.method,
            .location = (*answered)->header("location")
        };
        transport_result<http_url> to = follow_redirect(from, answer);
        if (!to) {
            co_return without_secrets(to.error(), origin->settings, request, from);
        }
        if (followed == redirects_max) {
            co_return transport_failure{
                .what = transport_failure::kind::redirect,
                .detail = "it answered with more than " + std::to_string(redirects_max) +
                          " redirects in a row"
            };
        }
        target = (to->path.empty() ? "/" : to->path) + to->query;
        if (to->tls != from.tls) {
            const result<std::shared_ptr<http_origin>> secure = secured(*std::move(to));
            if (!secure) {
                co_return transport_failure{
                    .what = transport_failure::kind::tls, .detail = secure.error().detail
                };
            }
            origin = *secure;
        }
    }
}

/// The path and query of a request before any redirect.
std::string http_transport::first_target(const transport_request& request) const {
    const http_url& url = origin_->url;
    std::string target = url.path;
    if (target.empty() && !request.target.starts_with('/')) {
        target = "/";
    }
    target.append(request.target);
    if (!url.query.empty()) {
        const bool has_query = request.target.find('?') != std::string::npos;
        target.append(has_query ? "&" : "?").append(url.query, 1);
    }
    return target;
}

result<std::shared_ptr<http_origin>> http_transport::secured(http_url url) {
    const std::lock_guard lock(mutex_);
    if (!secured_ || secured_->url.authority != url.authority) {
        result<std::shared_ptr<http_origin>> made =
            make_http_origin(std::move(url), origin_->settings);
        if (!made) {
            return made.error();
        }
        secured_ = *std::move(made);
    }
    return secured_;
}

asio::awaitable<http_transport::outcome> http_transport::exchange_once(
    std::shared_ptr<http_origin> origin, std::string_view target, const transport_request& request
) {
    // For callers whose awaits do not throw when cancelled.
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        co_return transport_failure{
            .what = transport_failure::kind::cancelled, .detail = "cancelled"
        };
    }
    const std::string head = write_head(*origin, target, request);
    if (head.empty()) {
        co_return transport_failure{
            .what = transport_failure::kind::protocol,
            .detail = "the request's target or headers cannot be sent"
        };
    }
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    bool unsent = true;
    if (origin->settings.reuse_connections) {
        auto idle = connection_pool::of(executor).take(origin->id);
        if (idle) {
            auto exchange = std::make_unique<http_exchange>(executor, origin);
            exchange->use(std::move(idle));
            const transport_result<void> done = co_await exchange->perform(head, request.body);
            if (done) {
                co_return checked(std::move(exchange));
            }
            // If the server had closed the idle connection, a new one is used.
            if (!exchange->stale()) {
                co_return done.error();
            }
            unsent = false;
        }
    }
    auto exchange = std::make_unique<http_exchange>(executor, origin);
    const transport_result<void> connected = co_await exchange->connect();
    if (!connected) {
        transport_failure why = connected.error();
        why.unsent = unsent;
        co_return why;
    }
    const transport_result<void> done = co_await exchange->perform(head, request.body);
    if (!done) {
        co_return done.error();
    }
    co_return checked(std::move(exchange));
}

/// Refuses a compressed answer, which would look like a broken one.
http_transport::outcome http_transport::checked(std::unique_ptr<http_exchange> exchange) {
    const std::string_view encoding = exchange->header("content-encoding");
    if (!encoding.empty() && !equal_ignoring_case(encoding, "identity")) {
        return transport_failure{
            .what = transport_failure::kind::protocol,
            .detail = "the answer is compressed, although the request did not ask for it"
        };
    }
    return outcome(std::move(exchange));
}

} // namespace

result<std::shared_ptr<http_client>> make_http_client(http_endpoint endpoint) {
    result<http_url> url = parse_http_url(endpoint.base_url);
    if (!url) {
        return url.error();
    }
    while (url->path.ends_with('/')) {
        url->path.pop_back();
    }
    result<std::shared_ptr<http_origin>> origin =
        make_http_origin(*std::move(url), std::move(endpoint));
    if (!origin) {
        return origin.error();
    }
    return std::make_shared<http_transport>(*std::move(origin));
}

} // namespace agui::runner
