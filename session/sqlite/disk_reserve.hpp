#pragma once

#include "session/base/log.hpp"

#include <cstddef>
#include <mutex>
#include <string>

namespace agui::session {

/// Reserved disk space: on a full disk, removing something first needs space. A file of that size
/// next to the store; it stays when the store is closed, because the disk may fill up in the
/// meantime. Safe to use from any thread.
class disk_reserve {
public:
    /// The space a removal needs: all commits waiting in the ring (1 MB), and what SQLite writes
    /// around them.
    static constexpr std::size_t bytes = 4U << 20U;

    /// `path` names the file. Logs a warning if there is no space for it.
    disk_reserve(std::string path, agui::logger& log);

    /// Frees the reserved space. False: none was reserved.
    [[nodiscard]] bool release() noexcept;
    /// Reserves it again. False: the disk is too full, or does not support it.
    bool restore() noexcept;

private:
    const std::string path_;
    std::mutex mutex_;
    bool is_held_ = false;
};

} // namespace agui::session
