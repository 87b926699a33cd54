#include "gateway/http/framing_check.hpp"

#include "session/base/ascii.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace agui::gateway {
namespace {

bool is_control(char c) noexcept {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool is_alpha(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int hex_value(char c) noexcept {
    if (is_digit(c)) {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// `host [":" port]` of letters, digits and -._~ or an address in brackets. No userinfo, escapes or
/// lists, which could be read as two hosts.
bool is_valid_host(std::string_view host) noexcept {
    std::string_view port;
    if (host.starts_with('[')) {
        const std::size_t end = host.find(']');
        if (end == std::string_view::npos || end < 3) {
            return false;
        }
        const std::string_view address = host.substr(1, end - 1);
        if (!std::ranges::all_of(address, [](char c) {
                return hex_value(c) >= 0 || c == ':' || c == '.';
            })) {
            return false;
        }
        port = host.substr(end + 1);
    } else {
        const std::size_t colon = std::min(host.find(':'), host.size());
        const std::string_view name = host.substr(0, colon);
        if (name.empty() || !std::ranges::all_of(name, [](char c) {
                return is_digit(c) || is_alpha(c) || c == '-' || c == '.' || c == '_' || c == '~';
            })) {
            return false;
        }
        port = host.substr(colon);
    }
    if (port.empty()) {
        return true;
    }
    return port.front() == ':' && port.size() <= 6 && std::ranges::all_of(port.substr(1), is_digit);
}

std::optional<std::string> check_target(std::string_view target) {
    if (!target.starts_with('/')) {
        return "The request target must be a path that begins with '/'.";
    }
    const bool clean = std::ranges::none_of(target, [](char c) {
        return is_control(c) || c == ' ' || c == '#' || static_cast<unsigned char>(c) >= 0x80;
    });
    if (!clean) {
        return "The request target holds a character that must be percent-encoded.";
    }
    return std::nullopt;
}

std::optional<std::string> check_host(const request_head& head) {
    std::size_t count = 0;
    for (const auto& [name, value] : head.headers) {
        if (name == "host") {
            ++count;
            if (!is_valid_host(value)) {
                return "The Host header is not a host name or address with an optional port.";
            }
        }
    }
    if (count > 1 || (count == 0 && head.version == 11)) {
        return "A request must have exactly one Host header.";
    }
    return std::nullopt;
}

} // namespace

head_scan scan_head(std::string_view received, std::size_t from) noexcept {
    using state = head_scan::state;
    for (std::size_t i = from; i < received.size(); ++i) {
        const char c = received[i];
        if (c == '\n') {
            if (i == 0 || received[i - 1] != '\r') {
                return {state::refused, 0, "A line of the head ends without a CR."};
            }
            if (i >= 3 && received[i - 2] == '\n') {
                return {state::complete, i + 1, {}};
            }
            continue;
        }
        if (i > 0 && received[i - 1] == '\r') {
            return {state::refused, 0, "The head holds a CR that is not part of a line ending."};
        }
        if ((c == ' ' || c == '\t') && (i == 0 || received[i - 1] == '\n')) {
            return {state::refused, 0, "A line of the head begins with white space."};
        }
        if (is_control(c) && c != '\r' && c != '\t') {
            return {state::refused, 0, "The head holds a control character."};
        }
    }
    return {};
}

std::variant<request_head, framing_problem> parse_head(std::string_view block) {
    namespace http = boost::beast::http;
    http::request_parser<http::empty_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(block.size() + 1));
    parser.body_limit(boost::none); // Beast's default is 1 MiB. The connection checks the length.
    boost::system::error_code ec;
    parser.put(boost::asio::buffer(block), ec);
    if (!parser.is_header_done()) {
        return framing_problem{"The request head is not valid HTTP/1.1."};
    }
    const auto& message = parser.get();
    request_head head;
    head.method = std::string(message.method_string());
    head.target = std::string(message.target());
    head.version = static_cast<int>(message.version());
    if (head.version != 10 && head.version != 11) {
        return framing_problem{"Only HTTP/1.0 and HTTP/1.1 are served."};
    }
    for (const auto& field : message) {
        head.headers.emplace_back(to_lower(field.name_string()), std::string(field.value()));
    }
    return head;
}

std::variant<body_framing, framing_problem> check_framing(const request_head& head) {
    if (auto problem = check_target(head.target)) {
        return framing_problem{std::move(*problem)};
    }
    if (auto problem = check_host(head)) {
        return framing_problem{std::move(*problem)};
    }
    body_framing framing;
    std::size_t encodings = 0;
    std::size_t lengths = 0;
    for (const auto& [name, value] : head.headers) {
        if (name == "transfer-encoding") {
            ++encodings;
            if (encodings > 1 || !equal_ignoring_case(value, "chunked") || head.version != 11) {
                return framing_problem{
                    "Transfer-Encoding must be exactly \"chunked\", once, on HTTP/1.1."
                };
            }
            framing.chunked = true;
        } else if (name == "content-length") {
            ++lengths;
            const bool digits = !value.empty() && value.size() <= 18 &&
                                std::ranges::all_of(value, is_digit) &&
                                (value.size() == 1 || value.front() != '0');
            if (lengths > 1 || !digits) {
                return framing_problem{"Content-Length must be one decimal number, given once."};
            }
            std::from_chars(value.data(), value.data() + value.size(), framing.length);
        }
    }
    if (encodings > 0 && lengths > 0) {
        return framing_problem{"Transfer-Encoding and Content-Length exclude each other."};
    }
    return framing;
}

bool decode_path(std::string_view encoded, std::string& decoded) {
    decoded.clear();
    decoded.reserve(encoded.size());
    for (std::size_t i = 0; i < encoded.size(); ++i) {
        char c = encoded[i];
        if (c == '%') {
            const int high = i + 2 < encoded.size() ? hex_value(encoded[i + 1]) : -1;
            const int low = high < 0 ? -1 : hex_value(encoded[i + 2]);
            if (low < 0) {
                return false;
            }
            c = static_cast<char>(high * 16 + low);
            i += 2;
        }
        if (is_control(c)) {
            return false;
        }
        decoded.push_back(c);
    }
    return true;
}

std::size_t chunked_decoder::feed(std::string_view bytes, std::string& body) {
    std::size_t used = 0;
    while (used < bytes.size() && state_ == state::need_more) {
        if (step_ != step::data) {
            take(bytes[used]);
            ++used;
            continue;
        }
        const auto part =
            static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, bytes.size() - used));
        body.append(bytes.substr(used, part));
        used += part;
        chunk_left_ -= part;
        if (chunk_left_ == 0) {
            step_ = step::data_cr;
        }
    }
    return used;
}

void chunked_decoder::take(char c) {
    switch (step_) {
    case step::size:
        take_size(c);
        return;
    case step::extension:
        if (c == '\r') {
            step_ = step::size_lf;
        } else if ((is_control(c) && c != '\t') || ++extra_bytes_ > max_extra_bytes) {
            refuse();
        }
        return;
    case step::size_lf:
        if (c != '\n') {
            refuse();
        } else if (chunk_left_ > max_body_bytes_ - body_bytes_) {
            state_ = state::too_large;
        } else {
            body_bytes_ += static_cast<std::size_t>(chunk_left_);
            line_empty_ = true;
            step_ = chunk_left_ == 0 ? step::trailer : step::data;
        }
        return;
    case step::data:
        return;
    case step::data_cr:
        step_ = step::data_lf;
        if (c != '\r') {
            refuse();
        }
        return;
    case step::data_lf:
        step_ = step::size;
        size_digits_ = 0;
        if (c != '\n') {
            refuse();
        }
        return;
    case step::trailer:
        if (c == '\r') {
            step_ = step::trailer_lf;
        } else if ((is_control(c) && c != '\t') || ++extra_bytes_ > max_extra_bytes) {
            refuse();
        } else {
            line_empty_ = false;
        }
        return;
    case step::trailer_lf:
        if (c != '\n') {
            refuse();
        } else if (line_empty_) {
            state_ = state::complete;
        } else {
            line_empty_ = true;
            step_ = step::trailer;
        }
        return;
    }
}

void chunked_decoder::take_size(char c) {
    const int digit = hex_value(c);
    if (digit >= 0 && size_digits_ < 8) {
        chunk_left_ = chunk_left_ * 16 + static_cast<std::uint64_t>(digit);
        ++size_digits_;
    } else if (size_digits_ > 0 && c == '\r') {
        step_ = step::size_lf;
    } else if (size_digits_ > 0 && c == ';') {
        step_ = step::extension;
    } else {
        refuse();
    }
}

} // namespace agui::gateway
