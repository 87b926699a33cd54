#pragma once

#include <cstddef>
#include <filesystem>

namespace agui::gateway {

/// How many bytes of memory this process may use: the machine's memory, or less if its control
/// group or an ancestor of that has a limit (version 1 or 2). A limit that cannot be read is
/// ignored; if there is none at all, 2 GB are assumed. `root` is the root of the file system, for
/// tests.
[[nodiscard]] std::size_t usable_memory(const std::filesystem::path& root = "/");

} // namespace agui::gateway
