#pragma once

#include <chrono>

namespace agui::test {

/// Time limit for events that must happen. Only a test that fails waits so long, so it is much more
/// than a busy machine with a sanitizer needs.
inline constexpr std::chrono::seconds patience{60};

} // namespace agui::test
