#pragma once

#include "runner/http/http_transport.hpp"
#include "runner/http/http_url.hpp"

#include <boost/asio/ssl/context.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agui::runner {

/// A server that http_transport sends requests to. Immutable; shared with its connections.
struct http_origin {
    http_url url;
    http_endpoint settings;
    std::string fixed_headers; ///< The header lines that are the same in every request.
    std::optional<boost::asio::ssl::context> tls; ///< Present for https.
    std::uint64_t id = 0;                         ///< Unique in this process.
};

/// errc::invalid_input if a header or the ca_file cannot be used.
[[nodiscard]] result<std::shared_ptr<http_origin>>
make_http_origin(http_url url, http_endpoint settings);

/// True if a request may have this header: its name concerns neither the framing nor the routing,
/// and its value is one line.
[[nodiscard]] bool usable_header(std::string_view name, std::string_view value) noexcept;

/// Appends a line of a request's header.
void append_header(std::string& out, std::string_view name, std::string_view value);

} // namespace agui::runner
