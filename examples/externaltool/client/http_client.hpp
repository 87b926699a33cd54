#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace externaltool {

/// The parts of the gateway's URL.
struct endpoint {
    std::string host; ///< Without the brackets of an IPv6 address.
    std::string port;
    std::string authority; ///< The value of the Host header.
    std::string target;
};

/// Parses an http:// URL. Throws std::invalid_argument, whose text describes the error.
[[nodiscard]] endpoint parse_url(std::string_view url);

struct reply {
    unsigned status = 0;
    std::string content_type;
    std::string body; ///< At most 64 KiB; empty if the body was an event stream.
};

/// POSTs JSON and returns when the answer has ended. The bytes of an event stream (status 200,
/// text/event-stream) go to `on_stream` as they arrive, any other body into the reply.
///
/// Throws boost::system::system_error when the server cannot be reached, when the connection breaks
/// before the answer is complete, and when nothing arrives for 60 seconds (the gateway sends a
/// comment line after 15). An exception of `on_stream` ends the exchange and is passed on.
[[nodiscard]] reply post_json(
    const endpoint& where, std::string body, const std::function<void(std::string_view)>& on_stream
);

} // namespace externaltool
