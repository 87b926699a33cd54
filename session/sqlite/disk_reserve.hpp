#pragma once

#include "session/base/log.hpp"
#include "session/base/mutex.hpp"

#include <cstddef>
#include <string>

namespace agui::session {

/// A file next to the store that reserves disk space: on a full disk, even a removal first needs
/// some. It stays when the store is closed, because the disk may fill up in the meantime. Safe to
/// use from any thread.
class disk_reserve {
public:
    /// Enough for a removal and the writes of SQLite around it.
    static constexpr std::size_t bytes = 4U << 20U;

    /// `path` names the file. Makes it, or logs a warning if there is no space for it.
    disk_reserve(std::string path, agui::logger& log);

    /// Frees the reserved space. Returns false if none was reserved, or if the file cannot be
    /// deleted.
    [[nodiscard]] bool release() noexcept;
    /// Reserves the space again, unless it is reserved. Returns false if the disk has no room, or
    /// if its file system cannot reserve space.
    bool restore() noexcept;

private:
    const std::string path_;
    mutex mutex_;
    bool is_held_ AGUI_GUARDED_BY(mutex_) = false;
};

} // namespace agui::session
