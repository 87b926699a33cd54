#pragma once

#include "session/base/mutex.hpp"
#include "session/base/text_map.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agui::gateway {

/// Counts the threads of each subject that have a run or a request for one. A thread has one run at
/// a time, so a request that continues or supersedes its thread's run never exceeds a limit. It
/// remembers only subjects with such threads: server.max_runs bounds them. Safe to use from any
/// thread. Owned by shared_ptr: places keep it alive.
class running_threads : public std::enable_shared_from_this<running_threads> {
public:
    struct claim {
        std::string subject;
        std::uint32_t limit = 0; ///< 0 for no limit.
    };
    /// What enter() returns: a place among the running threads until it is destroyed, or the index
    /// of the claim that has no place left.
    struct entered {
        std::shared_ptr<const void> place;
        std::optional<std::size_t> refused;
    };

    [[nodiscard]] entered enter(std::vector<claim> claims, const std::string& thread);
    [[nodiscard]] std::size_t count(const std::string& subject) const;

private:
    class held_place;
    using thread_counts = text_map<std::size_t>;

    void leave(const std::vector<claim>& claims, const std::string& thread) noexcept;

    mutable mutex mutex_;
    text_map<thread_counts> subjects_ AGUI_GUARDED_BY(mutex_);
};

} // namespace agui::gateway
