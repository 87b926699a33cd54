#include "session/sqlite/disk_reserve.hpp"

#include "session/base/failpoint.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace agui::session {

disk_reserve::disk_reserve(std::string path, agui::logger& log) : path_(std::move(path)) {
    if (!restore()) {
        log.log(
            log_level::warning,
            "cannot reserve disk space: threads may not be removable once the disk is full",
            {{"file", path_}}
        );
    }
}

bool disk_reserve::release() noexcept {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_held_, false) || ::unlink(path_.c_str()) != 0) {
        return false;
    }
    pass_failpoint("store.reserve_released");
    return true;
}

bool disk_reserve::restore() noexcept {
    const std::lock_guard lock(mutex_);
    if (is_held_) {
        return true;
    }
    const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return false;
    }
    is_held_ = ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0;
    (void)::close(file); // Nothing was written to this file.
    if (!is_held_) {
        (void)::unlink(path_.c_str()); // A partial reserve is useless.
    }
    return is_held_;
}

} // namespace agui::session
