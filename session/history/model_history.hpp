#pragma once

#include "session/conversation/thread.hpp"
#include "session/history/delimited_results.hpp"
#include "session/history/history_window.hpp"

#include <vector>

namespace agui::session {

/// The conversation of the branch that ends in `tip`, as a model gets it: select_history(), then
/// repair_history(), then within_window(), which counts the messages to be sent and drops whole
/// turns, so that no call loses its result, then, with `is_foreign`, delimit_results(), then
/// tell_prompts(). Code that edits a history in other ways must repair it again.
///
/// Pure, and stable: a stored history that only grows yields output that only grows, byte for byte,
/// except for calls that were answered meanwhile, and where a block leaves the window.
[[nodiscard]] std::vector<message> model_history(
    const thread_record& thread, node_index tip, const history_window& window = {},
    const foreign_tool_check& is_foreign = {}
);

} // namespace agui::session
