#pragma once

#include <string_view>

namespace agui {

// Named places at which a test can make the process stumble. Only builds with AGUI_FAILPOINTS have them; in the
// others these functions are empty. The environment variable AGUI_FAILPOINT chooses one:
//
//   AGUI_FAILPOINT=NAME=ACTION[:N]     ACTION is kill, error or delay; it happens at the N-th passing (1)
//
// A line on standard error says when it has happened.

#ifdef AGUI_FAILPOINTS

/// For a place where nothing can fail: kill and delay happen, error does not.
void pass_failpoint(std::string_view name) noexcept;

/// For a place where something can fail: error throws std::runtime_error.
void check_failpoint(std::string_view name);

#else

inline void pass_failpoint(std::string_view) noexcept {}
inline void check_failpoint(std::string_view) {}

#endif

} // namespace agui
