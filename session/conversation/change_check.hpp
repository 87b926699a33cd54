#pragma once

#include "session/conversation/thread.hpp"

namespace agui::session {

/// Throws std::logic_error if `change` does not fit a thread of that many messages and branches:
/// a parent that does not come before its child, a branch that leaves a gap, a tip, head or call
/// that points at nothing. Such a change is a bug of the caller, and must not reach a store.
void check_change(thread_size size, const changes& change);

/// What a thread of that size has become after the change.
[[nodiscard]] thread_size size_after(thread_size size, const changes& change) noexcept;

} // namespace agui::session
