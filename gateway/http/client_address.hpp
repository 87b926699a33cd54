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
    /// Nullopt: the text is neither an address nor a network.
    [[nodiscard]] static std::optional<network> parse(std::string_view text);
    [[nodiscard]] bool contains(const boost::asio::ip::address& address) const;

private:
    boost::asio::ip::address base_;
    unsigned bits_ = 0;
};

/// The client to which a request is attributed: the peer's address or, if the peer is a trusted
/// proxy, the last entry in X-Forwarded-For that is not a trusted proxy's address. If that entry
/// cannot be read, it is the proxy that wrote it: otherwise whoever brings one about would have no
/// limit. Of an IPv6 address only the first 56 bits count: one customer may have such a network.
/// Empty if the client is unknown: loopback, or a proxy without the header, may stand for any
/// number of people.
[[nodiscard]] std::string client_of(
    const boost::asio::ip::address& peer, const http_request& request,
    const std::vector<network>& trusted_proxies
);

/// The client whose connections are counted, named as by client_of(). Empty: not limited, because
/// the peer is loopback or a trusted proxy.
[[nodiscard]] std::string
peer_of(const boost::asio::ip::address& peer, const std::vector<network>& trusted_proxies);

} // namespace agui::gateway
