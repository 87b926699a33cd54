#pragma once

#include "session/conversation/thread.hpp"

namespace agui::session {

/// Throws std::logic_error if `change` does not fit a thread of that many messages and branches: a
/// parent that does not come before its child, a gap in the branch numbers, or a tip, a head or a
/// call that refers to nothing. Such a change is a bug of the caller and must not reach a store.
void check_change(thread_size size, const changes& change);

/// Throws std::logic_error if one of changes::answered has not ended or has no answered_by.
void check_answered(const changes& change);
/// Also throws it if one of them is `run`, which begins with the change.
void check_answered(const run_record& run, const changes& change);

/// The smallest size of a thread that the change fits.
[[nodiscard]] thread_size least_size_for(const changes& change) noexcept;

/// The size of the thread after the change.
[[nodiscard]] thread_size size_after(thread_size size, const changes& change) noexcept;

} // namespace agui::session
