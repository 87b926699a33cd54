#pragma once

#include "gateway/http/http_message.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agui::gateway {

/// A file that is part of the program.
struct embedded_file {
    std::string_view name; ///< Below the root, without a leading '/'.
    std::string_view content;
};

/// The example pages: the files of examples/externaltool/web, and below `chat-stream/` those of
/// examples/chat-stream.
[[nodiscard]] const std::vector<embedded_file>& embedded_page();
/// The page of the console: the files of gateway/console/web, below `console/`.
[[nodiscard]] const std::vector<embedded_file>& embedded_console();

/// The Content-Security-Policy of pages: everything comes from this server, nothing is inline, and
/// no other page may frame them.
inline constexpr std::string_view default_csp =
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

struct static_settings {
    /// If nullopt, default_csp and X-Frame-Options are sent; if empty, neither.
    std::optional<std::string> csp;
    /// A browser that asks for a page without a file gets index.html, which routes by the path
    /// itself. A path with a dot in its last segment is not a page but a missing file.
    bool spa = false;
};

/// True if a browser asks for a page: the Accept header names HTML, and the last segment of the
/// path has no dot.
[[nodiscard]] bool asks_for_page(const http_request& request);

/// Serves the files of a folder. A path that ends with `/` is the index.html of that folder, and
/// the same path without the `/` leads there (308). Never serves anything outside the folder,
/// whatever the path or a symbolic link says, nor a path with a file or folder whose name begins
/// with a dot. Files have an ETag and Last-Modified, and are sent from the disk as the client takes
/// them, whole or one range of bytes: 206, 304, 412 and 416 as RFC 9110 demands; 503 `overloaded`
/// if too many files are open. Reads on the connection's thread. Throws
/// std::filesystem::filesystem_error if the folder does not exist.
[[nodiscard]] http_handler
make_static_route(const std::filesystem::path& folder, static_settings settings = {});

/// The same for built-in files, which outlive the handler.
[[nodiscard]] http_handler make_static_route(const std::vector<embedded_file>& files);

} // namespace agui::gateway
