#pragma once

#include "runner/http/http_client.hpp"
#include "runner/http/name_lookup.hpp"
#include "session/base/error.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace agui::runner {

/// How one model server (or webhook) is reached.
struct http_endpoint {
    std::string base_url; ///< http:// or https://, no userinfo; a query is sent with every request.
    /// Sent with every request (keys too); of several with the same name, the first.
    std::vector<std::pair<std::string, std::string>> headers;
    std::chrono::milliseconds connect_timeout{10'000};
    std::chrono::milliseconds first_byte_timeout{60'000};
    std::chrono::milliseconds idle_timeout{60'000};
    std::string ca_file; ///< PEM bundle in addition to the system's; empty: only the system's.
    /// False: a new connection for each request, so that no request is ever sent twice (see below).
    bool reuse_connections = true;
    std::shared_ptr<name_lookup> names; ///< Null: name_lookup::system().
};

/// HTTP/1.1 with keep-alive connections pooled per thread of execution (a connection never changes
/// its executor). https verifies the certificate chain and the host name (RFC 9110 4.3.4); there is
/// no way to switch that off. Redirects are not followed. A pooled connection that turns out to be
/// closed before the first response byte is replaced once, transparently; a connection is kept for
/// as long as the server's Keep-Alive says, at most a minute. An answer that arrives while the
/// request is still being written ends the writing. Answers are not compressed (Accept-Encoding:
/// identity). Timeouts are coarse (checked four times a second), so that a token costs no timer.
/// Fails with errc::invalid_input if the URL is not usable.
[[nodiscard]] result<std::shared_ptr<http_client>> make_http_client(http_endpoint endpoint);

} // namespace agui::runner
