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

/// The Content-Security-Policy of pages: everything comes from this server, nothing is inline, and
/// no other page may frame them.
inline constexpr std::string_view default_csp =
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

struct static_settings {
    std::optional<std::string> csp; ///< Nullopt: default_csp, and X-Frame-Options. Empty: none.
    /// A browser that asks for a page whose path names no file gets index.html, which decides what
    /// to show. A path whose last segment has a dot is not a page, but a missing file.
    bool spa = false;
};

/// Serves the files of a folder. A path that ends with `/` is the index.html of that folder, and
/// the same path without the `/` leads there (308). Never serves anything outside the folder,
/// whatever the path or a symbolic link says, nor a path with a file or folder whose name begins
/// with a dot, nor a file above 64 MiB. Reads files on the connection's thread, if
/// http_request::reply_memory has room for them; otherwise the reply is 503 `overloaded`. Throws
/// std::filesystem::filesystem_error if the folder does not exist.
[[nodiscard]] http_handler
make_static_route(const std::filesystem::path& folder, static_settings settings = {});

/// The same for built-in files, which outlive the handler.
[[nodiscard]] http_handler make_static_route(const std::vector<embedded_file>& files);

} // namespace agui::gateway
