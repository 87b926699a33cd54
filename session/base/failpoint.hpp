#pragma once

#include <functional>
#include <string_view>

namespace agui {

// Named places at which a test can make the process fail, wait or die. Only builds with
// AGUI_FAILPOINTS have them; in the others these functions are empty. The environment variable
// AGUI_FAILPOINT chooses one:
//
//   AGUI_FAILPOINT=NAME=ACTION[:N]     ACTION is kill, error or delay; it happens the N-th
//                                      time the place is passed (default 1)
//
// A line on standard error says when it has happened.

#ifdef AGUI_FAILPOINTS

/// For a place where nothing can fail: kill and delay take effect, error does not.
void pass_failpoint(std::string_view name) noexcept;

/// For a place where something can fail: error throws std::runtime_error.
void check_failpoint(std::string_view name);

/// For tests of this process: called with the name of every place that is passed, by the thread
/// that passes it; what it throws is thrown by check_failpoint(). The destructor removes the hook
/// and waits for calls under way. At most one hook exists at a time.
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
