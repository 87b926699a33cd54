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

/// The example page, built in from examples/externaltool/web.
[[nodiscard]] const std::vector<embedded_file>& embedded_page();

/// The Content-Security-Policy of pages: everything from here, nothing inline, no frame around
/// them.
inline constexpr std::string_view default_csp =
    "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

struct static_settings {
    std::optional<std::string> csp; ///< Nullopt: default_csp, and X-Frame-Options. Empty: none.
    /// If a browser asks for a page and the path names no file, it gets index.html, which decides
    /// what to show. A path whose last part has a dot counts as a missing file.
    bool spa = false;
};

/// Serves the files of a folder; `/` is its index.html. Never serves anything outside the folder,
/// whatever the path or a symbolic link says, nor a file or folder whose name begins with a dot,
/// nor a file above 64 MiB. Reads on the connection's thread, once http_request::reply_memory has
/// room for the file; otherwise the reply is 503 `overloaded`. Throws
/// std::filesystem::filesystem_error if the folder does not exist.
[[nodiscard]] http_handler
make_static_route(const std::filesystem::path& folder, static_settings settings = {});

/// The same for built-in files, which outlive the handler.
[[nodiscard]] http_handler make_static_route(const std::vector<embedded_file>& files);

} // namespace agui::gateway
