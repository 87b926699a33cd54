#include "gateway/http/client_address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace agui::gateway {
namespace ip = boost::asio::ip;

namespace {

// Converts an IPv4 address mapped to IPv6 back to IPv4.
ip::address plain(const ip::address& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return ip::make_address_v4(ip::v4_mapped, address.to_v6());
    }
    return address;
}

std::optional<ip::address> address_in(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    text = text.substr(0, text.find_last_not_of(" \t") + 1);
    // Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    if (text.starts_with('[')) {
        text = text.substr(1, std::min(text.find(']'), text.size()) - 1);
    } else if (std::ranges::count(text, ':') == 1) {
        text = text.substr(0, text.find(':'));
    }
    boost::system::error_code ec;
    const ip::address address = ip::make_address(std::string(text), ec);
    return ec ? std::nullopt : std::optional(plain(address));
}

bool same_start(const unsigned char* left, const unsigned char* right, unsigned bits) {
    const unsigned whole = bits / 8;
    if (!std::equal(left, left + whole, right)) {
        return false;
    }
    const unsigned rest = bits % 8;
    const auto mask = static_cast<unsigned char>(0xff00U >> rest);
    return rest == 0 || (left[whole] & mask) == (right[whole] & mask);
}

std::string name_of(const ip::address& address) {
    if (address.is_v4()) {
        return address.to_string();
    }
    constexpr std::size_t network_bytes = 7; // Most customers of a provider have a /56 or less.
    ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
    std::fill(bytes.begin() + network_bytes, bytes.end(), static_cast<unsigned char>(0));
    return ip::address_v6(bytes).to_string();
}

} // namespace

std::optional<network> network::parse(std::string_view text) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    boost::system::error_code ec;
    const ip::address base = ip::make_address(std::string(text.substr(0, slash)), ec);
    if (ec) {
        return std::nullopt;
    }
    network found;
    found.base_ = plain(base);
    const unsigned most = found.base_.is_v4() ? 32 : 128;
    found.bits_ = most;
    if (slash < text.size()) {
        const char* end = text.data() + text.size();
        const auto [rest, problem] = std::from_chars(text.data() + slash + 1, end, found.bits_);
        if (problem != std::errc{} || rest != end || found.bits_ > most) {
            return std::nullopt;
        }
    }
    return found;
}

bool network::contains(const ip::address& given) const {
    const ip::address address = plain(given);
    if (address.is_v4() != base_.is_v4()) {
        return false;
    }
    if (address.is_v4()) {
        const auto left = address.to_v4().to_bytes();
        const auto right = base_.to_v4().to_bytes();
        return same_start(left.data(), right.data(), bits_);
    }
    const auto left = address.to_v6().to_bytes();
    const auto right = base_.to_v6().to_bytes();
    return same_start(left.data(), right.data(), bits_);
}

bool is_loopback(const ip::address& address) { return plain(address).is_loopback(); }

bool is_trusted_proxy(const ip::address& address, const std::vector<network>& proxies) {
    return std::ranges::any_of(proxies, [&address](const network& one) {
        return one.contains(address);
    });
}

std::string peer_of(const ip::address& peer, const std::vector<network>& trusted_proxies) {
    const ip::address direct = plain(peer);
    const bool unlimited = direct.is_loopback() || is_trusted_proxy(direct, trusted_proxies);
    return unlimited ? std::string() : name_of(direct);
}

namespace {

/// The client, and whether it is known: otherwise the address is that of the last proxy.
struct found_client {
    ip::address address;
    bool is_known = true;
};

found_client find_client(
    const ip::address& peer, const http_request& request,
    const std::vector<network>& trusted_proxies
) {
    const ip::address direct = plain(peer);
    if (!is_trusted_proxy(direct, trusted_proxies)) {
        return {direct, !direct.is_loopback()};
    }
    // Each proxy appends the peer it saw. Entries before the last one that is not a trusted proxy
    // may be forged.
    ip::address proxy = direct; // The proxy that wrote the entry.
    for (auto field = request.headers.rbegin(); field != request.headers.rend(); ++field) {
        if (field->first != "x-forwarded-for") {
            continue;
        }
        std::string_view rest = field->second;
        while (!rest.empty()) {
            const std::size_t comma = rest.rfind(',');
            const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
            const auto hop = address_in(rest.substr(begin));
            if (!hop) {
                return {proxy};
            }
            if (!is_trusted_proxy(*hop, trusted_proxies)) {
                return {*hop};
            }
            proxy = *hop;
            rest = rest.substr(0, comma == std::string_view::npos ? 0 : comma);
        }
    }
    return {proxy, false};
}

} // namespace

std::string client_of(
    const ip::address& peer, const http_request& request,
    const std::vector<network>& trusted_proxies
) {
    const found_client client = find_client(peer, request, trusted_proxies);
    return client.is_known ? name_of(client.address) : std::string();
}

std::string address_of(
    const ip::address& peer, const http_request& request,
    const std::vector<network>& trusted_proxies
) {
    return find_client(peer, request, trusted_proxies).address.to_string();
}

} // namespace agui::gateway
