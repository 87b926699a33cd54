#include "runner/http/http_transport.hpp"

#include "runner/http/http_connection.hpp"
#include "runner/http/http_exchange.hpp"
#include "runner/http/http_url.hpp"
#include "session/base/ascii.hpp"

#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

constexpr std::string_view line_end = "\r\n";

/// True for a field name (RFC 9110, 5.1) that does not belong to the framing or the routing.
bool usable_name(std::string_view name) noexcept {
    static constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    if (name.empty()) {
        return false;
    }
    for (const char c : name) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && others.find(c) == std::string_view::npos) {
            return false;
        }
    }
    for (const std::string_view ours :
         {"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Keep-Alive",
          "TE", "Trailer", "Upgrade", "Expect"}) {
        if (equal_ignoring_case(name, ours)) {
            return false;
        }
    }
    return true;
}

/// True for a value that is one line.
bool usable_value(std::string_view value) noexcept {
    return std::all_of(value.begin(), value.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte >= 0x20 && byte != 0x7f) || c == '\t';
    });
}

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

void append_line(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append(line_end);
}

failure invalid(std::string detail) {
    failure error;
    error.code = errc::invalid_input;
    error.detail = std::move(detail);
    return error;
}

class http_transport final : public http_client {
public:
    explicit http_transport(std::shared_ptr<http_origin> origin) : origin_(std::move(origin)) {}

    [[nodiscard]] asio::awaitable<transport_result<std::unique_ptr<transport_response>>>
    send(const transport_request& request) override {
        try {
            co_return co_await exchange(request);
        } catch (const boost::system::system_error& error) {
            // Awaits throw this once the coroutine has been cancelled.
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
    [[nodiscard]] static outcome checked(std::unique_ptr<http_exchange> exchange);
    [[nodiscard]] bool write_head(std::string& head, const transport_request& request) const;

    std::shared_ptr<http_origin> origin_;
};

asio::awaitable<http_transport::outcome> http_transport::exchange(const transport_request& request
) {
    // For callers whose awaits do not throw when they are cancelled.
    const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) {
        co_return transport_failure{
            .what = transport_failure::kind::cancelled, .detail = "cancelled"
        };
    }
    std::string head;
    if (!write_head(head, request)) {
        co_return transport_failure{
            .what = transport_failure::kind::protocol,
            .detail = "the request's target or headers cannot be sent"
        };
    }
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    if (origin_->settings.reuse_connections) {
        auto idle = connection_pool::of(executor).take(origin_->id);
        if (idle) {
            auto exchange = std::make_unique<http_exchange>(executor, origin_);
            exchange->use(std::move(idle));
            const transport_result<void> done = co_await exchange->perform(head, request.body);
            if (done) {
                co_return checked(std::move(exchange));
            }
            // If the server had closed it while it was idle, a new connection is used.
            if (!exchange->stale()) {
                co_return done.error();
            }
        }
    }
    auto exchange = std::make_unique<http_exchange>(executor, origin_);
    const transport_result<void> connected = co_await exchange->connect();
    if (!connected) {
        co_return connected.error();
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
            .detail = "the answer is compressed, which was not asked for"
        };
    }
    return outcome(std::move(exchange));
}

bool http_transport::write_head(std::string& head, const transport_request& request) const {
    std::string_view path = origin_->url.path;
    if (!usable_target(request.target)) {
        return false;
    }
    if (path.empty() && !request.target.starts_with('/')) {
        path = "/";
    }
    const std::string& query = origin_->url.query;
    head.reserve(
        origin_->fixed_headers.size() + path.size() + request.target.size() + query.size() + 256
    );
    head.append(to_string(request.method)).append(" ").append(path).append(request.target);
    if (!query.empty()) {
        const bool has_query = request.target.find('?') != std::string::npos;
        head.append(has_query ? "&" : "?").append(query, 1);
    }
    head.append(" HTTP/1.1\r\n");
    head.append(origin_->fixed_headers);
    for (const auto& [name, value] : request.headers) {
        if (!usable_name(name) || !usable_value(value)) {
            return false;
        }
        // The configuration takes precedence.
        const auto& fixed = origin_->settings.headers;
        const bool given = std::any_of(fixed.begin(), fixed.end(), [&name](const auto& each) {
            return equal_ignoring_case(each.first, name);
        });
        if (!given) {
            append_line(head, name, value);
        }
    }
    const bool may_be_empty =
        request.method == http_method::get || request.method == http_method::delete_;
    if (!request.body.empty() || !may_be_empty) {
        append_line(head, "Content-Type", "application/json");
        append_line(head, "Content-Length", std::to_string(request.body.size()));
    }
    head.append(line_end);
    return true;
}

result<void> set_up_tls(http_origin& origin) {
    asio::ssl::context& tls = origin.tls.emplace(asio::ssl::context::tls_client);
    boost::system::error_code ec;
    if (SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION) != 1) {
        return invalid("TLS 1.2 is not available");
    }
    tls.set_default_verify_paths(ec);
    if (ec) {
        return invalid("the system's certificate store cannot be read");
    }
    if (!origin.settings.ca_file.empty()) {
        tls.load_verify_file(origin.settings.ca_file, ec);
        if (ec) {
            return invalid("ca_file: not a readable file of PEM certificates");
        }
    }
    tls.set_verify_mode(asio::ssl::verify_peer, ec);
    if (ec) {
        return invalid("certificates cannot be verified");
    }
    return {};
}

} // namespace

result<std::shared_ptr<http_client>> make_http_client(http_endpoint endpoint) {
    static std::atomic<std::uint64_t> last_id{0};

    result<http_url> url = parse_http_url(endpoint.base_url);
    if (!url) {
        return url.error();
    }
    while (url->path.ends_with('/')) {
        url->path.pop_back();
    }
    auto origin = std::make_shared<http_origin>();
    origin->url = *std::move(url);
    origin->settings = std::move(endpoint);
    origin->id = ++last_id;
    append_line(origin->fixed_headers, "Host", origin->url.authority);
    if (!origin->settings.reuse_connections) {
        append_line(origin->fixed_headers, "Connection", "close");
    }
    std::vector<std::pair<std::string, std::string>>& headers = origin->settings.headers;
    for (const auto& [name, value] : headers) {
        // The text has only the name: values are secrets.
        if (!usable_name(name) || !usable_value(value)) {
            return invalid("headers: " + name + " cannot be set, or not to this value");
        }
    }
    // Of two with the same name a server takes either one, or it refuses the request.
    for (auto each = headers.begin(); each != headers.end();) {
        const bool again = std::any_of(headers.begin(), each, [each](const auto& other) {
            return equal_ignoring_case(other.first, each->first);
        });
        each = again ? headers.erase(each) : std::next(each);
    }
    for (const auto& [name, value] :
         {std::pair{"User-Agent", "agui-gateway"}, std::pair{"Accept-Encoding", "identity"}}) {
        const bool given = std::any_of(headers.begin(), headers.end(), [&](const auto& each) {
            return equal_ignoring_case(each.first, name);
        });
        if (!given) {
            headers.emplace_back(name, value);
        }
    }
    for (const auto& [name, value] : headers) {
        append_line(origin->fixed_headers, name, value);
    }
    if (origin->url.tls) {
        if (const result<void> ready = set_up_tls(*origin); !ready) {
            return ready.error();
        }
    }
    return std::make_shared<http_transport>(std::move(origin));
}

} // namespace agui::runner
