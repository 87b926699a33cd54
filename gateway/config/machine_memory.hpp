#pragma once

#include <cstddef>
#include <filesystem>

namespace agui::gateway {

/// Bytes that this process may use at most: those of the machine, or less where a control group
/// that holds the process, or one around it, has a limit (version 1 and version 2). `root` is where
/// the file system begins, for tests. What cannot be read sets no limit.
[[nodiscard]] std::size_t usable_memory(const std::filesystem::path& root = "/");

} // namespace agui::gateway
