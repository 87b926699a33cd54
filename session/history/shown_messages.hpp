#pragma once

#include "session/conversation/thread.hpp"

#include <vector>

namespace agui::session {

/// The messages of the branch that ends in `tip` as clients are shown them, in every list and
/// snapshot: as stored, and
/// - a call that can no longer be answered and that has no result gets an explicit
///   error result (missing_result.hpp), after the results of the message that holds the call. A
///   client would take the call for open otherwise, and execute it;
/// - a call that was answered on another branch only (results_elsewhere()) has that result;
/// - a failed run shows in the metadata of the last message that it had (turn_failure.hpp).
///
/// Stored messages from number `end` on are left out, none with no_node. Pure.
[[nodiscard]] std::vector<message>
shown_messages(const thread_record& thread, node_index tip, node_index end = no_node);

/// The calls that messages of a client hold without a tool message, in order; without arguments.
[[nodiscard]] std::vector<tool_call> calls_without_result(const std::vector<message>& given);

/// The error results of those `calls` that can no longer be answered, in order, for a client that
/// still shows them as open. Pure.
[[nodiscard]] std::vector<message>
missing_results(const thread_record& thread, const std::vector<tool_call>& calls);

} // namespace agui::session
