#pragma once

#include <functional>
#include <string_view>

namespace agui {

// Named places at which a test can make the process fail, wait or die. Only builds with
// AGUI_FAILPOINTS have them; in the others these functions are empty. The environment variable
// AGUI_FAILPOINT chooses one:
//
//   AGUI_FAILPOINT=NAME=ACTION[:N]     ACTION is kill, error or delay; it happens once, the N-th
//                                      time the place is passed (default 1)
//
// A line on standard error announces it.

#ifdef AGUI_FAILPOINTS

/// Marks a place where nothing can fail: kill and delay take effect, error does not.
void pass_failpoint(std::string_view name) noexcept;

/// Marks a place where something can fail: error throws std::runtime_error.
void check_failpoint(std::string_view name);

/// Used in tests of this process: calls `hook` with the name of every place that is passed, on the
/// thread that passes it. An exception of the hook leaves check_failpoint(); at a pass_failpoint()
/// it must not throw. The destructor removes the hook and waits for calls under way. At most one
/// object exists at a time.
class failpoint_hook {
public:
    explicit failpoint_hook(std::function<void(std::string_view)> hook);
    ~failpoint_hook();
    failpoint_hook(const failpoint_hook&) = delete;
    failpoint_hook& operator=(const failpoint_hook&) = delete;
};

#else

inline void pass_failpoint(std::string_view) noexcept {}
inline void check_failpoint(std::string_view) {}

#endif

} // namespace agui
