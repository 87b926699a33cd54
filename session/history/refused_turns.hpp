#pragma once

#include "session/conversation/thread.hpp"

#include <vector>

namespace agui::session {

/// How much of what a model server has refused later requests still hold.
enum class refused_part {
    none,  ///< Nothing is left out.
    media, ///< Media became a note.
    whole, ///< The whole content became a note.
};

/// For each message of `path` how much of it is left out, so that one refused message does not make
/// each later request fail. By the notes on the path (turn_failure.hpp):
/// - the user messages since the last answer or note, and the results after them, are refused
///   together by a refusal that no answer follows;
/// - they are sent whole until a newer user message follows; then without media or, if they hold
///   none or what follows them was refused as well, as a note alone.
/// What the model itself has said stays, and so do messages that were answered: media that one
/// model has taken and another one refuses make each later request to that one fail, until the
/// thread is branched before them. Two refusals in a row do not prove that older media are the
/// cause (a fallback without media may have stood in for a while, or the user has sent a broken
/// picture twice), and to leave them out for good would be worse.
/// Pure, and stable: an answer changes nothing of it.
[[nodiscard]] std::vector<refused_part>
refused_parts(const thread_record& thread, const std::vector<node_index>& path);

/// Leaves that much out of a message on its way to a model.
void leave_out(refused_part part, message& value);

} // namespace agui::session
