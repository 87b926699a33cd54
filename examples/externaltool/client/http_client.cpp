#include "http_client.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/url/parse.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace externaltool {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr std::chrono::seconds connect_timeout{10};
constexpr std::chrono::seconds silence_timeout{60};
constexpr std::size_t max_kept_body = 64U * 1024U;

bool is_event_stream(const http::response_header<>& header) {
    return header.result() == http::status::ok &&
           beast::iequals(header[http::field::content_type].substr(0, 17), "text/event-stream");
}

http::request<http::string_body> make_request(const endpoint& where, std::string body) {
    http::request<http::string_body> request{http::verb::post, where.target, 11, std::move(body)};
    request.set(http::field::host, where.authority);
    request.set(http::field::content_type, "application/json");
    request.set(http::field::accept, "text/event-stream");
    request.set(http::field::connection, "close");
    request.prepare_payload();
    return request;
}

asio::awaitable<reply>
exchange(endpoint where, std::string body, std::function<void(std::string_view)> on_stream) {
    const auto executor = co_await asio::this_coro::executor;
    asio::ip::tcp::resolver resolver{executor};
    beast::tcp_stream stream{executor};

    const auto addresses =
        co_await resolver.async_resolve(where.host, where.port, asio::use_awaitable);
    stream.expires_after(connect_timeout);
    co_await stream.async_connect(addresses, asio::use_awaitable);

    const auto request = make_request(where, std::move(body));
    stream.expires_after(silence_timeout);
    co_await http::async_write(stream, request, asio::use_awaitable);

    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    // No limit: an answer may be long, and this client keeps no events.
    parser.body_limit(boost::none);
    co_await http::async_read_header(stream, buffer, parser, asio::use_awaitable);

    const auto& response = parser.get();
    const bool streamed = is_event_stream(response.base());
    reply answer{response.result_int(), std::string{response[http::field::content_type]}, {}};

    std::array<char, 8192> chunk{};
    while (!parser.is_done()) {
        auto& sink = parser.get().body();
        sink.data = chunk.data();
        sink.size = chunk.size();
        stream.expires_after(silence_timeout);
        // read_some, not read, to get each event when it arrives, not when the buffer is full.
        boost::system::error_code failed;
        co_await http::async_read_some(
            stream, buffer, parser, asio::redirect_error(asio::use_awaitable, failed)
        );
        if (failed && failed != http::error::need_buffer) {
            throw boost::system::system_error{failed, "while reading the answer"};
        }
        const std::string_view bytes{chunk.data(), chunk.size() - sink.size};
        if (streamed) {
            on_stream(bytes);
        } else {
            answer.body +=
                bytes.substr(0, max_kept_body - std::min(max_kept_body, answer.body.size()));
        }
    }
    co_return answer;
}

} // namespace

endpoint parse_url(std::string_view url) {
    const auto parsed = boost::urls::parse_uri(url);
    if (!parsed) {
        throw std::invalid_argument{"not a URL"};
    }
    if (parsed->scheme_id() != boost::urls::scheme::http) {
        throw std::invalid_argument{"only http:// URLs are supported"};
    }
    if (parsed->encoded_host().empty()) {
        throw std::invalid_argument{"no host"};
    }
    const std::string_view path{parsed->encoded_path().data(), parsed->encoded_path().size()};
    return {
        .host = parsed->host_address(),
        .port = parsed->has_port() ? std::string{parsed->port()} : "80",
        .authority = std::string{parsed->encoded_host_and_port()},
        .target = path.empty() ? "/" : std::string{path},
    };
}

reply post_json(
    const endpoint& where, std::string body, const std::function<void(std::string_view)>& on_stream
) {
    asio::io_context context{1};
    reply answer;
    std::exception_ptr failure;
    asio::co_spawn(
        context, exchange(where, std::move(body), on_stream),
        [&](std::exception_ptr thrown, reply got) {
            failure = std::move(thrown);
            answer = std::move(got);
        }
    );
    context.run();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return answer;
}

} // namespace externaltool
