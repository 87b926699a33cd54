#pragma once

#include "session/thread.hpp"

#include <cstddef>

namespace agui::session {

/// Throws std::logic_error if `change` does not fit a thread of that many messages and branches:
/// a parent that does not come before its child, a branch that leaves a gap, a tip, head or call
/// that points at nothing. Such a change is a bug of the caller, and must not reach a store.
void check_change(std::size_t node_count, std::size_t branch_count, const changes& change);

} // namespace agui::session
