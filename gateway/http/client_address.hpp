#pragma once

#include "gateway/http/http_message.hpp"

#include <boost/asio/ip/address.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// An IP address, or a network: `10.0.0.0/8`, `fd00::/8`.
class network {
public:
    /// Returns nullopt if the text is neither an address nor a network.
    [[nodiscard]] static std::optional<network> parse(std::string_view text);
    [[nodiscard]] bool contains(const boost::asio::ip::address& address) const;

private:
    boost::asio::ip::address base_;
    unsigned bits_ = 0;
};

/// Also true for an IPv4 loopback address that is mapped to IPv6.
[[nodiscard]] bool is_loopback(const boost::asio::ip::address& address);

/// True if the address is that of one of `proxies`.
[[nodiscard]] bool
is_trusted_proxy(const boost::asio::ip::address& address, const std::vector<network>& proxies);

/// The client to which a request is attributed: the peer's address or, if the peer is a trusted
/// proxy, the last entry in X-Forwarded-For that is not a trusted proxy's address. An unparsable
/// entry is attributed to the proxy that wrote it; otherwise a client that causes one would escape
/// the limits. Only the first 56 bits of an IPv6 address count, because one customer may own such a
/// network. Empty if the client is unknown: loopback, or a proxy without the header, may stand for
/// any number of people.
[[nodiscard]] std::string client_of(
    const boost::asio::ip::address& peer, const http_request& request,
    const std::vector<network>& trusted_proxies
);

/// The address of the client that client_of() finds, whole, for records of who has done what. Never
/// empty: a proxy stands for a client that it has not named.
[[nodiscard]] std::string address_of(
    const boost::asio::ip::address& peer, const http_request& request,
    const std::vector<network>& trusted_proxies
);

/// The client whose connections are counted, named as by client_of(). Empty if there is no limit,
/// because the peer is loopback or a trusted proxy.
[[nodiscard]] std::string
peer_of(const boost::asio::ip::address& peer, const std::vector<network>& trusted_proxies);

} // namespace agui::gateway
