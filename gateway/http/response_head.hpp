#pragma once

#include "gateway/http/http_message.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agui::gateway {

/// The parts of a reply's head that the connection sets, not the handler.
struct reply_terms {
    bool http_1_0 = false;
    bool keep_alive = true;
    std::vector<std::pair<std::string, std::string>> headers; ///< The CORS headers.
};

/// The status line and header lines of a plain reply, with the final empty line. Content-Length is
/// the size of the body or the file, unless the status allows no body.
[[nodiscard]] std::string write_reply_head(const http_reply& reply, const reply_terms& terms);

/// The same for a stream of that type, which is chunked or, with HTTP/1.0, ends when the connection
/// closes. Has headers that keep caches, proxies and compressors from holding events back, and
/// `header` (event_source::header).
[[nodiscard]] std::string
write_stream_head(std::string_view content_type, std::string_view header, const reply_terms& terms);

} // namespace agui::gateway
