#include "runner/http/http_origin.hpp"

#include "session/base/ascii.hpp"

#include <boost/system/error_code.hpp>

#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>
#include <vector>

namespace agui::runner {

namespace asio = boost::asio;

namespace {

/// True for a field name (RFC 9110, 5.1) that concerns neither the framing nor the routing.
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

failure invalid(std::string detail) {
    failure error;
    error.code = errc::invalid_input;
    error.detail = std::move(detail);
    return error;
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
        return invalid("the verification of certificates cannot be enabled");
    }
    return {};
}

} // namespace

bool usable_header(std::string_view name, std::string_view value) noexcept {
    return usable_name(name) && usable_value(value);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
    out.append(name).append(": ").append(value).append("\r\n");
}

result<std::shared_ptr<http_origin>> make_http_origin(http_url url, http_endpoint settings) {
    static std::atomic<std::uint64_t> last_id{0};

    auto origin = std::make_shared<http_origin>();
    origin->url = std::move(url);
    origin->settings = std::move(settings);
    origin->id = ++last_id;
    append_header(origin->fixed_headers, "Host", origin->url.authority);
    if (!origin->settings.reuse_connections) {
        append_header(origin->fixed_headers, "Connection", "close");
    }
    std::vector<std::pair<std::string, std::string>>& headers = origin->settings.headers;
    for (const auto& [name, value] : headers) {
        // The error holds only the name, because values are secrets.
        if (!usable_header(name, value)) {
            return invalid(
                "headers: " + name + " is not a header that can be set, or its value is invalid"
            );
        }
    }
    // A server that gets two headers of one name takes either or refuses the request.
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
        append_header(origin->fixed_headers, name, value);
    }
    if (origin->url.tls) {
        if (const result<void> ready = set_up_tls(*origin); !ready) {
            return ready.error();
        }
    }
    return origin;
}

} // namespace agui::runner
