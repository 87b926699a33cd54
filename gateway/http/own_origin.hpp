#pragma once

#include "gateway/http/access_rules.hpp"
#include "gateway/http/http_message.hpp"

#include <boost/asio/ip/address.hpp>

#include <optional>
#include <string_view>

namespace agui::gateway {

// What a browser's session depends on: the origin of the page, and whether the request came over
// plain HTTP from this machine. `from_proxy`: the peer is a trusted proxy.

/// True if the request came over plain HTTP from a browser on this machine, for all that can be
/// told: the peer and the host name are loopback, and neither a proxy nor the page's origin nor
/// `access.public_origin` says `https`. Browsers do not store Secure cookies of such a server
/// everywhere.
[[nodiscard]] bool is_plain_loopback(
    const boost::asio::ip::address& peer, const http_request& request,
    const access_settings& access, bool from_proxy
);

/// Why a request with a session's cookie is refused, as one sentence; nullopt if it may go on. An
/// unsafe method (all but GET, HEAD and OPTIONS) needs an Origin that is this server's own or one
/// of `access.cors_origins`: otherwise a page of another site could use the session. The own
/// origins are that of `access.public_origin` and `https://HOST`, or `http://HOST` with
/// `request.plain_loopback`, where HOST is from Host or a trusted proxy's X-Forwarded-Host.
[[nodiscard]] std::optional<std::string_view>
origin_problem(const http_request& request, const access_settings& access, bool from_proxy);

} // namespace agui::gateway
