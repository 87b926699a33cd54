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

/// How to reach a server (of a model, a webhook or MCP).
struct http_endpoint {
    std::string base_url; ///< http or https, without userinfo; its query is sent with each request.
    /// Sent with each request, including keys. If a name occurs twice, its first header is used.
    std::vector<std::pair<std::string, std::string>> headers;
    std::chrono::milliseconds connect_timeout{10'000};
    /// Time until the header of the answer has arrived.
    std::chrono::milliseconds first_byte_timeout{60'000};
    std::chrono::milliseconds idle_timeout{60'000}; ///< Time for each read of the body.
    std::string ca_file; ///< PEM file of certificates to trust besides the system's; may be empty.
    /// If false, each request uses a new connection, so that no request is ever sent twice.
    bool reuse_connections = true;
    std::shared_ptr<name_lookup> names; ///< If null, name_lookup::system() is used.
    memory_budget* budget = nullptr;    ///< Counts the kept bytes of answers; may be null.
};

/// An HTTP/1.1 client with a pool of idle connections per execution context (a connection never
/// changes its executor). https verifies the certificate chain and the host name (RFC 9110 4.3.4);
/// this cannot be switched off. Redirects are followed as follow_redirect() decides, at most
/// redirects_max. If a pooled connection turns out to be closed before the first byte of the
/// response, the request is sent once more, on a new connection. A connection is kept as long as
/// the server's Keep-Alive says, a minute at most. An answer that comes while the request is being
/// written ends the writing. Answers must not be compressed (Accept-Encoding: identity).
/// deadline_sweep checks the timeouts, so that a token costs no timer. errc::invalid_input if the
/// URL, a header or the ca_file cannot be used.
[[nodiscard]] result<std::shared_ptr<http_client>> make_http_client(http_endpoint endpoint);

} // namespace agui::runner
