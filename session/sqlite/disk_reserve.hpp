#pragma once

#include "session/base/log.hpp"

#include <cstddef>
#include <mutex>
#include <string>

namespace agui::session {

/// Room on the disk that is kept for one purpose: on a full one, removing something takes room
/// first. A file of that size beside the store; it stays when the store is closed, because the disk
/// may fill up meanwhile. May be used from any thread.
class disk_reserve {
public:
    /// What a removal takes: all commits that wait in the ring (1 MB), with what SQLite writes
    /// around them.
    static constexpr std::size_t bytes = 4U << 20U;

    /// `path` is the file's. Logs a warning if there is no room for it.
    disk_reserve(std::string path, agui::logger& log);

    /// Gives the room to whoever comes first. False: there is none.
    [[nodiscard]] bool release() noexcept;
    /// Takes it again. False: the disk is too full, or cannot do it.
    bool restore() noexcept;

private:
    const std::string path_;
    std::mutex mutex_;
    bool is_held_ = false;
};

} // namespace agui::session
