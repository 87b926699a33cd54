#include "gateway/control/control_client.hpp"

#include "gateway/control/socket_trust.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>

#include <unistd.h>

#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <stdexcept>

namespace agui::gateway {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::local::stream_protocol;

namespace {

constexpr std::size_t copied_at_once = 65'536;
/// Replies that are not copied are short: the longest is a page of threads.
constexpr std::uint64_t reply_bytes_max = 4U << 20U;

std::string target_of(std::string_view path, const control_client::parameters& query) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789-._~";
    std::string target(path);
    char before = '?';
    for (const auto& [name, value] : query) {
        target.append(1, before).append(name).push_back('=');
        for (const char c : value) {
            if (plain.find(c) != std::string_view::npos) {
                target.push_back(c);
            } else {
                const auto byte = static_cast<unsigned char>(c);
                target.append({'%', hex[byte >> 4U], hex[byte & 15U]});
            }
        }
        before = '&';
    }
    return target;
}

using request = http::request<http::string_body>;

request request_of(std::string_view method, std::string_view target, std::string body) {
    request made;
    made.version(11);
    made.method_string(method);
    made.target(target);
    made.set(http::field::host, "localhost");
    made.set(http::field::connection, "close");
    made.body() = std::move(body);
    made.prepare_payload();
    return made;
}

void check(const boost::system::error_code& ec) {
    if (ec) {
        throw std::runtime_error("the gateway has broken off: " + ec.message());
    }
}

} // namespace

stream_protocol::socket control_client::connect() {
    stream_protocol::socket socket(context_);
    boost::system::error_code ec;
    socket.connect(stream_protocol::endpoint(path_), ec);
    if (ec) {
        throw std::runtime_error("cannot reach a gateway at " + path_ + ": " + ec.message());
    }
    // A foreign server of the socket could read imports and forge exports.
    const std::optional<::uid_t> peer = peer_user(socket);
    if (!peer || !is_trusted_server(::geteuid(), *peer, path_)) {
        throw std::runtime_error(path_ + " is the socket of another user");
    }
    return socket;
}

control_reply control_client::send(
    std::string_view method, std::string_view path, const parameters& query, std::string body
) {
    stream_protocol::socket socket = connect();
    boost::system::error_code ec;
    request asked = request_of(method, target_of(path, query), std::move(body));
    // A refusal may come before the body has been sent.
    boost::system::error_code unsent;
    http::write(socket, asked, unsent);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::string_body> parser;
    parser.body_limit(reply_bytes_max);
    http::read(socket, buffer, parser, ec);
    check(ec && unsent ? unsent : ec);
    return {static_cast<int>(parser.get().result_int()), std::move(parser.get().body())};
}

control_reply
control_client::copy(std::string_view path, const parameters& query, std::ostream& out) {
    stream_protocol::socket socket = connect();
    boost::system::error_code ec;
    request asked = request_of("GET", target_of(path, query), {});
    http::write(socket, asked, ec);
    check(ec);
    boost::beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(boost::none);
    http::read_header(socket, buffer, parser, ec);
    check(ec);
    control_reply reply{static_cast<int>(parser.get().result_int()), {}};
    std::array<char, copied_at_once> bytes; // NOLINT(*-member-init): filled before it is read.
    while (!parser.is_done()) {
        parser.get().body() = {bytes.data(), bytes.size(), true};
        http::read(socket, buffer, parser, ec);
        check(ec == http::error::need_buffer ? boost::system::error_code() : ec);
        const std::string_view got(bytes.data(), bytes.size() - parser.get().body().size);
        if (reply.status == 200) {
            out.write(got.data(), static_cast<std::streamsize>(got.size()));
        } else if (reply.body.size() < reply_bytes_max) {
            reply.body.append(got);
        }
        if (!out) {
            throw std::runtime_error("cannot write the copy");
        }
    }
    return reply;
}

} // namespace agui::gateway
