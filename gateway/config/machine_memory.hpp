#pragma once

#include <cstddef>
#include <filesystem>

namespace agui::gateway {

/// The most bytes that this process may use: the machine's memory, or less if its control group or
/// an ancestor has a limit (version 1 and version 2). `root` is the root of the file system, for
/// tests. A limit that cannot be read is ignored.
[[nodiscard]] std::size_t usable_memory(const std::filesystem::path& root = "/");

} // namespace agui::gateway
