#pragma once

#include "session/conversation/pending_call.hpp"
#include "session/conversation/thread.hpp"
#include "session/store/store.hpp"

#include <vector>

namespace agui::session {

// The parts of a thread that `store` serves, made from the whole thread.

/// Like store::summary(), but without the run that holds the thread.
[[nodiscard]] thread_summary summary_of(const thread_record& thread);
/// Like store::pending_calls().
[[nodiscard]] std::vector<pending_call> pending_calls_of(const thread_record& thread);
/// Like store::branches().
[[nodiscard]] std::vector<branch_summary> branches_of(const thread_record& thread);

} // namespace agui::session
