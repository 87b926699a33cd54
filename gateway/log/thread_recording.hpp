#pragma once

#include "session/base/clock.hpp"
#include "session/conversation/thread.hpp"
#include "translator/agui/agui_translator.hpp"

#include <chrono>

namespace agui::gateway {

/// Writes a thread as the events of a run: RUN_STARTED, MESSAGES_SNAPSHOT of its head branch,
/// STATE_SNAPSHOT if it has a state, RUN_FINISHED, with the approvals that it waits for
/// (session::open_approvals). Leaves out messages from number `end` on; with
/// no_node, none.
void write_history(
    const session::thread_record& thread, session::node_index end,
    std::chrono::seconds approval_life, const translator::run_opening& opening, unix_ms now,
    translator::translator_settings settings, translator::wire_sink& out
);

} // namespace agui::gateway
