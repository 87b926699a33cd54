#pragma once

#include "gateway/http_message.hpp"

#include <filesystem>
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

/// Serves the files of a folder; `/` is its index.html. Nothing outside the folder, whatever the
/// path or a symbolic link says, no file or folder whose name begins with a dot, and no file above
/// 64 MiB. Reads on the connection's thread. Throws std::filesystem::filesystem_error if the folder
/// does not exist.
[[nodiscard]] http_handler make_static_route(const std::filesystem::path& folder);

/// The same for built-in files, which outlive the handler.
[[nodiscard]] http_handler make_static_route(const std::vector<embedded_file>& files);

} // namespace agui::gateway
