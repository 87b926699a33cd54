#pragma once

#include "session/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace agui::runner {

/// The parts of an http or https URL that a client needs.
struct http_url {
    bool tls = false;
    std::string host; ///< A name or an address; IPv6 addresses have no brackets.
    std::uint16_t port = 0;
    /// Value of the Host header: IPv6 addresses in brackets, no default port.
    std::string authority;
    std::string path;  ///< As written, still percent-encoded; empty or begins with a slash.
    std::string query; ///< Includes the question mark; empty if there is none.
};

/// Reads a URL from the configuration. errc::invalid_input for another scheme, userinfo, a
/// fragment, an empty or percent-encoded host or a bad port. The detail does not repeat the URL: it
/// may hold a key.
[[nodiscard]] result<http_url> parse_http_url(std::string_view text);

} // namespace agui::runner
